"""Replay dead letters: reconcile the items they name, then delete them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import time
from typing import TYPE_CHECKING

from adminview.aws.clients import Clients
from adminview.aws.concurrency import map_concurrently
from adminview.aws.dead_letter_consumer import WAIT_SECONDS, DeadLetterConsumer, Message
from adminview.aws.dead_letter_producer import DeadLetterProducer
from adminview.aws.deadline import Deadline
from adminview.aws.settings import Settings
from adminview.aws.streams import Streams
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.dead_letters.replay_summary import LetterOutcome, Summary
from adminview.dead_letters.resolve import LetterResolver, ResolvedLetter, UnreadableRecord
from adminview.model import Registry
from adminview.model.dead_letter import (
    BatchLetter,
    InDoubtLetter,
    ItemOrigin,
    OutgoingLetter,
    RecordLetter,
    retried,
)
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
from adminview.sync.dead_letter import dead_letter, identify
from adminview.sync.decode import routes

if TYPE_CHECKING:
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient

ROUND = 100  # dead letters that are received together: one reconcile per item
VAIN_ROUNDS = 2  # consecutive rounds without a new dead letter
PATIENCE = 60.0  # seconds for one dead letter or item
ALL = LetterFilter()


@dataclass(frozen=True, slots=True)
class ReplayOutcome:
    """The outcome of an item's reconcile."""

    target: ItemRef
    result: Reconciled | AdminViewError

    @property
    def problem(self) -> AdminViewError | None:
        return self.result if isinstance(self.result, AdminViewError) else None

    @property
    def unchanged(self) -> bool:
        return isinstance(self.result, Reconciled) and self.result.unchanged


@dataclass(slots=True)
class ReplayItem:
    """A dead letter with its items, or with the problems that prevent a reconcile."""

    resolved: ResolvedLetter
    targets: list[ItemRef] = field(default_factory=list)
    unreadable: list[UnreadableRecord] = field(default_factory=list)
    problems: list[AdminViewError] = field(default_factory=list)
    replacements: list[OutgoingLetter] = field(default_factory=list)  # sent in its place

    @classmethod
    def of(
        cls, resolved: ResolvedLetter, resolver: LetterResolver, deadline: Deadline
    ) -> "ReplayItem":
        """Find the items of a dead letter; problems are collected, not raised."""
        replay_item = cls(resolved)
        try:
            for target in resolver.targets(resolved, deadline):
                if isinstance(target, UnreadableRecord):
                    replay_item.unreadable.append(target)
                else:
                    replay_item.targets.append(target)
        except AdminViewError as error:
            return cls(resolved, problems=[error])
        replay_item.problems += (unreadable.error for unreadable in replay_item.unreadable)
        return replay_item

    @property
    def owners(self) -> list[str]:
        return [target.owner for target in self.targets]

    def write_replacements(
        self, problem: AdminViewError, outcomes: Iterable[ReplayOutcome], model: str, now: float
    ) -> None:
        """Write the dead letters that replace this one.

        A dead letter about several items is replaced by one for each that still fails: the stream
        expires the records, and one bad item must not keep the others in the queue.
        """
        letter = self.resolved.letter
        if not isinstance(letter, RecordLetter) and (self.targets or self.unreadable):
            self.replacements = [*self._item_letters(letter, outcomes, model)]
        else:
            self.replacements = [OutgoingLetter.of(retried(letter, problem, now))]

    def _item_letters(
        self, letter: BatchLetter | InDoubtLetter, outcomes: Iterable[ReplayOutcome], model: str
    ) -> Iterator[OutgoingLetter]:
        for unreadable in self.unreadable:
            origin = identify(unreadable.record, None, model)
            yield dead_letter(0, origin, unreadable.error, ())
        stream = letter.records.stream_arn if isinstance(letter, BatchLetter) else None
        for outcome in outcomes:
            target = outcome.target
            if problem := outcome.problem:
                origin = ItemOrigin(
                    source=target.route.source.name,
                    table=target.route.table,
                    key=dict(target.key),
                    owner=target.owner,
                    at=letter.at,
                    stream=stream,
                    model=model,
                )
                yield dead_letter(0, origin, problem, target.rows)


ReportOutcome = Callable[[Message, LetterOutcome, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayer:
    resolver: LetterResolver
    reconciler: Reconciler
    consumer: DeadLetterConsumer
    post: DeadLetterProducer
    # The owner index must catch up with a failed attempt before the next.
    retry_seconds: int
    now: Callable[[], float] = time
    check: Callable[[], object] = lambda: None  # raises if nothing may be written
    round_size: int = ROUND

    def replay(
        self,
        letter_filter: LetterFilter = ALL,
        *,
        deadline: Deadline,
        end: Deadline,
        report_error: ReportOutcome | None = None,
    ) -> Summary:
        """Replay the dead letters that match: begin none after *deadline*, return before *end*.

        Concurrent and killed replays are harmless.
        """
        run = _Run(self, letter_filter, deadline, end, report_error or (lambda *_: None))
        vain_rounds = 0
        try:
            while vain_rounds < run.patience:
                self.check()
                if not (taken := self.take_round(deadline)):
                    break
                vain_rounds = 0 if run.handle(taken) else vain_rounds + 1
            run.summary.complete = vain_rounds < run.patience and not deadline.passed
        finally:
            with suppress(ServiceError):  # optional: they become visible again by themselves
                self.consumer.put_back(run.untouched, deadline=end)
        return run.summary

    def take_round(self, deadline: Deadline) -> list[Message]:
        """Receive dead letters until the round is full or there are no more."""
        taken: list[Message] = []
        try:
            while len(taken) < self.round_size and not deadline.passed:
                if not (messages := self.consumer.take(deadline=deadline)):
                    break
                taken += messages
        except ServiceError:
            if not taken and not deadline.passed:
                raise
        return taken


@dataclass(frozen=True, slots=True)
class Patience:
    """How long dead letters wait, in seconds. The defaults are for AWS."""

    for_letters: int = WAIT_SECONDS
    before_retry: int = NEXT_TRY_SECONDS


# The indexes of an engine on this machine do not lag.
LOCALLY = Patience(for_letters=0, before_retry=1)


def make_replayer(
    model: Registry,
    settings: Settings,
    clients: Clients,
    streams: "DynamoDBStreamsClient",
    patience: Patience | None = None,
) -> Replayer:
    """Connect a model to the tables, streams and queue of *settings*."""
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
    """The state of one replay."""

    def __init__(
        self,
        replayer: Replayer,
        letter_filter: LetterFilter,
        deadline: Deadline,
        end: Deadline,
        report_error: ReportOutcome,
    ) -> None:
        self._replayer = replayer
        self._filter = letter_filter
        self._deadline = deadline
        self._end = end
        self._report_outcome = report_error
        self._seen: set[str] = set()
        self._sent: set[str] = set()
        self._failed: dict[str, AdminViewError] = {}  # by subject of the dead letter
        self.untouched: list[Message] = []
        self.summary = Summary()

    def handle(self, taken: Sequence[Message]) -> bool:
        """Process one round of dead letters; return whether any was new."""
        fresh = {message.id: message for message in taken if message.id not in self._seen}
        self._seen |= fresh.keys()
        replay_items = [
            replay_item for message in fresh.values() if (replay_item := self._open(message))
        ]
        outcomes = self._reconcile_all(replay_items)
        settled = [
            replay_item for replay_item in replay_items if self._settle(replay_item, outcomes)
        ]
        # Delete first: if deletes fail, do not send replacements.
        done = [
            replay_item.resolved.message for replay_item in settled if not replay_item.replacements
        ]
        self._replayer.consumer.delete(done, deadline=self._end)
        for replay_item in settled:
            if replay_item.replacements:
                self._replace(replay_item)
        return bool(fresh)

    @property
    def patience(self) -> int:
        """Return how many consecutive rounds may bring nothing new.

        In a long run, dead letters that were put back return before unseen ones.
        """
        return VAIN_ROUNDS + len(self._seen) // self._replayer.round_size

    def _open(self, message: Message) -> ReplayItem | None:
        """Resolve a dead letter; None if it cannot be resolved or does not match."""
        try:
            resolved = self._replayer.resolver.resolve(message)
        except UnknownLetterError as error:
            self._leave(message, message.sent)
            if self._filter.matches_unresolved(message, self._replayer.now()):
                self._note(message, LetterOutcome.UNKNOWN, error)
            return None
        if not self._filter.matches(resolved, self._replayer.now()):
            self._leave(message, resolved.since)
            return None
        if message.body in self._sent:
            return None  # sent by this run
        if failed := self._failed.get(resolved.about):
            self._count_remaining(resolved.since)
            self._note(message, LetterOutcome.FAILING, failed)
            return None  # invisible until its visibility timeout ends
        return ReplayItem.of(resolved, self._replayer.resolver, self._deadline.within(PATIENCE))

    def _reconcile_all(self, replay_items: Iterable[ReplayItem]) -> dict[str, ReplayOutcome]:
        """Reconcile each item once, however many dead letters name it."""
        work: dict[str, ItemRef] = {}
        for target in (target for replay_item in replay_items for target in replay_item.targets):
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
            return self._replayer.reconciler.reconcile(
                target, deadline=self._deadline.within(PATIENCE)
            )
        except AdminViewError as error:
            return error

    def _settle(self, replay_item: ReplayItem, all_outcomes: Mapping[str, ReplayOutcome]) -> bool:
        """Record the outcome of a dead letter; return whether to delete or replace it."""
        outcomes = [all_outcomes[owner] for owner in dict.fromkeys(replay_item.owners)]
        problems = [*replay_item.problems, *(o.problem for o in outcomes if o.problem)]
        message = replay_item.resolved.message
        if problems:
            self._count_remaining(replay_item.resolved.since)
        refused = [p for p in problems if isinstance(p, ServiceError)]
        # Items that were read from the stream must be named before it drops their records.
        save = replay_item.targets and replay_item.resolved.expires_soon(self._replayer.now())
        if refused and not save:
            self._note(message, LetterOutcome.LEFT, refused[0])
            return False
        if problems:
            self._failed[replay_item.resolved.about] = problems[0]
            expired = isinstance(problems[0], ExpiredRecordsError)
            self._note(
                message, LetterOutcome.EXPIRED if expired else LetterOutcome.FAILING, problems[0]
            )
            replay_item.write_replacements(
                problems[0], outcomes, self._replayer.reconciler.model, self._replayer.now()
            )
            return True
        changed = any(not outcome.unchanged for outcome in outcomes)
        self._note(message, LetterOutcome.RECONCILED if changed else LetterOutcome.UNCHANGED)
        return True

    def _replace(self, replay_item: ReplayItem) -> None:
        """Send the replacement of a dead letter, and only then delete the old one."""
        replayer = self._replayer
        self._sent.update(letter.body for letter in replay_item.replacements)
        unsent, _ = replayer.post.send(
            replay_item.replacements, deadline=self._end, delay_seconds=replayer.retry_seconds
        )
        if not unsent:
            replayer.consumer.delete([replay_item.resolved.message], deadline=self._end)

    def _leave(self, message: Message, since: float) -> None:
        """Leave a dead letter in the queue."""
        self.untouched.append(message)
        self._count_remaining(since)

    def _count_remaining(self, since: float) -> None:
        """Update the age of the oldest change whose dead letter remains."""
        self.summary.oldest_seconds = max(self.summary.oldest_seconds, self._replayer.now() - since)

    def _note(
        self, message: Message, outcome: LetterOutcome, error: AdminViewError | None = None
    ) -> None:
        self.summary.outcomes[outcome] += 1
        reason = f"{kind_of(error)}: {reason_of(error)}" if error else ""
        if reason:
            self.summary.reasons[reason] += 1
        self._report_outcome(message, outcome, reason)
