"""Replay dead letters: reconcile what they name, and delete them only when that is confirmed."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from time import time
from typing import TYPE_CHECKING, Any

from adminview.aws.clients import Clients
from adminview.aws.concurrency import map_concurrently
from adminview.aws.dead_letter_consumer import WAIT_SECONDS, DeadLetterConsumer, Message
from adminview.aws.dead_letter_producer import DeadLetterProducer
from adminview.aws.deadline import Deadline
from adminview.aws.settings import Settings
from adminview.aws.streams import Streams
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.dead_letters.replay_item import ReplayItem, ReplayOutcome
from adminview.dead_letters.resolve import LetterResolver
from adminview.model import Registry
from adminview.model.delivery import NEXT_TRY_SECONDS
from adminview.model.errors import (
    AdminViewError,
    ExpiredRecordsError,
    ServiceError,
    UnknownLetterError,
    kind_of,
    reason_of,
)
from adminview.reconcile.item_ref import ItemRef
from adminview.reconcile.reconciler import Reconciled, Reconciler, make_reconciler
from adminview.sync.decode import routes

if TYPE_CHECKING:
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient

ROUND = 100  # letters that are taken up together: those for one item are one reconcile
VAIN_ROUNDS = 2  # in a row that bring nothing new
PATIENCE = 60.0  # seconds for one letter, or one item
MOST_REASONS = 50  # that a summary lists
ALL = LetterFilter()


class LetterOutcome(StrEnum):
    """What became of a letter."""

    RECONCILED = "reconciled"  # its item's rows were wrong, and are right now: deleted
    UNCHANGED = "unchanged"  # they were right already: deleted
    FAILING = "still_failing"  # written anew with the newest error
    EXPIRED = "expired"  # the stream has forgotten its records: written anew, saying so
    UNKNOWN = "not_understood"  # left in the queue
    LEFT = "left_for_later"  # there was no time, or AWS refused: left in the queue


KEPT = (
    LetterOutcome.FAILING,
    LetterOutcome.EXPIRED,
    LetterOutcome.UNKNOWN,
    LetterOutcome.LEFT,
)  # a letter is still there


@dataclass(slots=True)
class Summary:
    """What a replay came to."""

    outcomes: Counter[LetterOutcome] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)  # why letters are still there
    items: int = 0
    rows_put: int = 0
    rows_deleted: int = 0
    oldest_seconds: float = 0.0  # since the oldest change whose letter stays
    complete: bool = True  # False: there was no time for all, and there may be more

    def as_dict(self) -> dict[str, Any]:
        """Show everything as plain data."""
        return asdict(self) | {
            "outcomes": {outcome.value: self.outcomes[outcome] for outcome in LetterOutcome},
            "reasons": dict(self.reasons.most_common(MOST_REASONS)),
        }


Tell = Callable[[Message, LetterOutcome, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayer:
    """The queue's two sides, and the way back to the sources."""

    resolver: LetterResolver
    reconciler: Reconciler
    consumer: DeadLetterConsumer
    post: DeadLetterProducer
    # Not again before the owner index has caught up with a try that failed.
    retry_seconds: int
    now: Callable[[], float] = time
    check: Callable[[], object] = lambda: None  # raises if nothing may be written

    def replay(
        self,
        letter_filter: LetterFilter = ALL,
        *,
        deadline: Deadline,
        end: Deadline,
        report_error: Tell | None = None,
    ) -> Summary:
        """Replay the letters that are meant: begin none after *until*, and be done at *end*.

        Two replays at once are harmless, and so is one that is killed.
        """
        run = _Run(self, letter_filter, deadline, end, report_error or (lambda *_: None))
        vain = 0
        try:
            while vain < run.patience:
                self.check()
                if not (taken := self.take_round(deadline)):
                    break
                vain = 0 if run.handle(taken) else vain + 1
            run.summary.complete = vain < run.patience and not deadline.passed
        finally:
            with suppress(ServiceError):  # a courtesy: the queue shows them again by itself
                self.consumer.put_back(run.untouched, deadline=end)
        return run.summary

    def take_round(self, deadline: Deadline) -> list[Message]:
        """Take up letters until there are enough for a round, or no more."""
        taken: list[Message] = []
        try:
            while len(taken) < ROUND and not deadline.passed:
                if not (some := self.consumer.take(deadline=deadline)):
                    break
                taken += some
        except ServiceError:
            if not taken and not deadline.passed:
                raise
        return taken


@dataclass(frozen=True, slots=True)
class Patience:
    """How long letters wait, in seconds: the defaults on AWS, not at all locally."""

    for_letters: int = WAIT_SECONDS
    before_retry: int = NEXT_TRY_SECONDS


def make_replayer(
    model: Registry,
    settings: Settings,
    clients: Clients,
    streams: "DynamoDBStreamsClient",
    patience: Patience | None = None,
) -> Replayer:
    """Connect a model to the tables, the streams and the queue that *settings* name."""
    patience = patience or Patience()
    queue = settings.dead_letter_queue_url
    return Replayer(
        resolver=LetterResolver(routes(model, settings.sources), Streams(streams)),
        reconciler=make_reconciler(model, settings, clients),
        consumer=DeadLetterConsumer(clients.sqs, queue, wait_seconds=patience.for_letters),
        post=DeadLetterProducer(clients.sqs, queue),
        retry_seconds=patience.before_retry,
    )


class _Run:
    """One replay under way."""

    def __init__(
        self,
        by: Replayer,
        letter_filter: LetterFilter,
        deadline: Deadline,
        end: Deadline,
        report_error: Tell,
    ) -> None:
        self._by = by
        self._choice = letter_filter
        self._until = deadline
        self._end = end
        self._tell = report_error
        self._seen: set[str] = set()
        self._sent: set[str] = set()
        self._failed: dict[str, AdminViewError] = {}  # what letters were about that failed
        self.untouched: list[Message] = []
        self.summary = Summary()

    def handle(self, taken: Sequence[Message]) -> bool:
        """See to one round of letters, and tell whether any was new."""
        fresh = {message.id: message for message in taken if message.id not in self._seen}
        self._seen |= fresh.keys()
        cases = [case for message in fresh.values() if (case := self._open(message))]
        outcomes = self._reconcile_all(cases)
        answered = [case for case in cases if self._settle(case, outcomes)]
        # First those that are done: if letters cannot be deleted, none may be written anew.
        done = [case.resolved.message for case in answered if not case.mail]
        self._by.consumer.delete(done, deadline=self._end)
        for case in answered:
            if case.mail:
                self._replace(case)
        return bool(fresh)

    @property
    def patience(self) -> int:
        """Count the rounds in a row that may bring nothing new.

        In a long run letters that were put aside come back before those that nobody has seen.
        """
        return VAIN_ROUNDS + len(self._seen) // ROUND

    def _open(self, message: Message) -> ReplayItem | None:
        """Find out what a letter asks for, if it can be understood and is meant."""
        try:
            resolved = self._by.resolver.understand(message)
        except UnknownLetterError as error:
            self._leave(message, message.sent)
            if self._choice.takes_unknown(message):
                self._note(message, LetterOutcome.UNKNOWN, error)
            return None
        if not self._choice.takes(resolved, self._by.now()):
            self._leave(message, resolved.since)
            return None
        if message.body in self._sent:
            return None  # this very run wrote it
        if failed := self._failed.get(resolved.about):
            self._stays(resolved.since)
            self._note(message, LetterOutcome.FAILING, failed)
            return None  # it rests until the queue shows it again
        return ReplayItem.of(resolved, self._by.resolver, self._until.within(PATIENCE))

    def _reconcile_all(self, cases: Iterable[ReplayItem]) -> dict[str, ReplayOutcome]:
        """Reconcile each item once, however many letters there are for it."""
        work: dict[str, ItemRef] = {}
        for target in (target for case in cases for target in case.targets):
            known = work.get(target.owner, target)
            work[target.owner] = replace(known, rows=known.rows | target.rows)
        results = map_concurrently(self._reconcile, [*work.values()])
        for result in results:
            if isinstance(result, Reconciled):
                self.summary.items += 1
                self.summary.rows_put += result.put
                self.summary.rows_deleted += result.deleted
        return {
            owner: ReplayOutcome(target, result)
            for (owner, target), result in zip(work.items(), results, strict=True)
        }

    def _reconcile(self, target: ItemRef) -> Reconciled | AdminViewError:
        try:
            return self._by.reconciler.reconcile(target, deadline=self._until.within(PATIENCE))
        except AdminViewError as error:
            return error

    def _settle(self, case: ReplayItem, all_outcomes: Mapping[str, ReplayOutcome]) -> bool:
        """Decide what becomes of a letter, and tell whether it is answered: done, or to be anew."""
        outcomes = [all_outcomes[owner] for owner in dict.fromkeys(case.owners)]
        problems = [*case.problems, *(one.problem for one in outcomes if one.problem)]
        message = case.resolved.message
        if problems:
            self._stays(case.resolved.since)
        if refused := [one for one in problems if isinstance(one, ServiceError)]:
            self._note(message, LetterOutcome.LEFT, refused[0])
            return False
        if problems:
            self._failed[case.resolved.about] = problems[0]
            expired = isinstance(problems[0], ExpiredRecordsError)
            self._note(
                message, LetterOutcome.EXPIRED if expired else LetterOutcome.FAILING, problems[0]
            )
            case.write_anew(problems[0], outcomes, self._by.reconciler.model, self._by.now())
            return True
        changed = any(not outcome.unchanged for outcome in outcomes)
        self._note(message, LetterOutcome.RECONCILED if changed else LetterOutcome.UNCHANGED)
        return True

    def _replace(self, case: ReplayItem) -> None:
        """Send a letter anew, and only then delete the old one."""
        by = self._by
        self._sent.update(mail.body for mail in case.mail)
        unsent, _ = by.post.send(case.mail, deadline=self._end, delay_seconds=by.retry_seconds)
        if not unsent:
            by.consumer.delete([case.resolved.message], deadline=self._end)

    def _leave(self, message: Message, since: float) -> None:
        """Let others have a letter that is not for this run."""
        self.untouched.append(message)
        self._stays(since)

    def _stays(self, since: float) -> None:
        """Remember how old the oldest change is whose letter stays in the queue."""
        self.summary.oldest_seconds = max(self.summary.oldest_seconds, self._by.now() - since)

    def _note(
        self, message: Message, outcome: LetterOutcome, error: AdminViewError | None = None
    ) -> None:
        self.summary.outcomes[outcome] += 1
        reason = f"{kind_of(error)}: {reason_of(error)}" if error else ""
        if reason:
            self.summary.reasons[reason] += 1
        self._tell(message, outcome, reason)
