"""Replay dead letters: reconcile what they name, and delete them only when that is confirmed."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from time import time
from typing import Any

from lambdas.aws.dead_letters import DeadLetters
from lambdas.aws.deadline import Deadline
from lambdas.aws.mailbox import Mailbox, Message
from lambdas.aws.together import together
from lambdas.model.errors import (
    AdminViewError,
    ExpiredRecordsError,
    ServiceError,
    UnknownLetterError,
    kind_of,
)
from lambdas.pipeline.letter import reason_of
from lambdas.repair.case import Case, Outcome
from lambdas.repair.choice import Choice
from lambdas.repair.errands import Errands
from lambdas.repair.reconcile import Reconciled, Reconciler, Target

ROUND = 100  # letters that are taken up together: those for one item are one reconcile
VAIN_ROUNDS = 2  # in a row that bring nothing new
ALL = Choice()


class Fate(StrEnum):
    """What became of a letter."""

    RECONCILED = "reconciled"  # its item's rows were wrong, and are right now: deleted
    UNCHANGED = "unchanged"  # they were right already: deleted
    FAILING = "still failing"  # written anew with the newest error
    EXPIRED = "expired"  # the stream has forgotten its records: written anew, saying so
    UNKNOWN = "not understood"  # left in the queue
    LEFT = "left for later"  # there was no time, or AWS refused: left in the queue


KEPT = (Fate.FAILING, Fate.EXPIRED, Fate.UNKNOWN, Fate.LEFT)  # a letter is still there


@dataclass(slots=True)
class Summary:
    """What a replay came to."""

    fates: Counter[Fate] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)  # why letters are still there
    items: int = 0
    rows_put: int = 0
    rows_deleted: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Show everything as plain data."""
        return asdict(self) | {
            "fates": {fate.value: self.fates[fate] for fate in Fate},
            "reasons": dict(self.reasons.most_common()),
        }


Tell = Callable[[Message, Fate, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayer:
    """The queue's two sides, and the way back to the sources."""

    errands: Errands
    reconciler: Reconciler
    mailbox: Mailbox
    post: DeadLetters
    # Not again before the owner index has caught up with a try that failed.
    retry_seconds: int
    now: Callable[[], float] = time

    def replay(
        self, choice: Choice = ALL, *, until: Deadline, end: Deadline, tell: Tell | None = None
    ) -> Summary:
        """Replay the letters that are meant: begin none after *until*, and be done at *end*.

        Two replays at once are harmless, and so is one that is killed.
        """
        run = _Run(self, choice, until, end, tell or (lambda *_: None))
        vain = 0
        try:
            while vain < VAIN_ROUNDS and not until.passed and (taken := self.take_round(until)):
                vain = 0 if run.handle(taken) else vain + 1
        finally:
            self.mailbox.put_back(run.untouched, until=end)
        return run.summary

    def take_round(self, until: Deadline) -> list[Message]:
        """Take up letters until there are enough for a round, or no more."""
        taken: list[Message] = []
        while len(taken) < ROUND and not until.passed:
            if not (some := self.mailbox.take(until=until)):
                break
            taken += some
        return taken


class _Run:
    """One replay under way."""

    def __init__(
        self, by: Replayer, choice: Choice, until: Deadline, end: Deadline, tell: Tell
    ) -> None:
        self._by = by
        self._choice = choice
        self._until = until
        self._end = end
        self._tell = tell
        self._seen: set[str] = set()
        self._failed: set[str] = set()  # what letters were about that failed in this run
        self.untouched: list[Message] = []
        self.summary = Summary()

    def handle(self, taken: Sequence[Message]) -> bool:
        """See to one round of letters, and tell whether any was new."""
        fresh = {message.id: message for message in taken if message.id not in self._seen}
        self._seen |= fresh.keys()
        cases = [case for message in fresh.values() if (case := self._open(message))]
        outcomes = self._reconcile_all(cases)
        done = [case.errand.message for case in cases if self._settle(case, outcomes)]
        self._by.mailbox.delete(done, until=self._end)
        return bool(fresh)

    def _open(self, message: Message) -> Case | None:
        """Find out what a letter asks for, if it can be understood and is meant."""
        try:
            errand = self._by.errands.understand(message)
        except UnknownLetterError as error:
            self.untouched.append(message)
            if self._choice.takes_unknown(message):
                self._note(message, Fate.UNKNOWN, error)
            return None
        if not self._choice.takes(errand, self._by.now()):
            self.untouched.append(message)
            return None
        if errand.about in self._failed:
            return None  # it rests until the queue shows it again
        return Case.of(errand, self._by.errands, self._until)

    def _reconcile_all(self, cases: Iterable[Case]) -> dict[str, Outcome]:
        """Reconcile each item once, however many letters there are for it."""
        work: dict[str, Target] = {}
        for target in (target for case in cases for target in case.targets):
            known = work.get(target.owner, target)
            work[target.owner] = replace(known, rows=known.rows | target.rows)
        results = together(self._reconcile, [*work.values()])
        for result in results:
            if isinstance(result, Reconciled):
                self.summary.items += 1
                self.summary.rows_put += result.put
                self.summary.rows_deleted += result.deleted
        return {
            owner: Outcome(target, result)
            for (owner, target), result in zip(work.items(), results, strict=True)
        }

    def _reconcile(self, target: Target) -> Reconciled | AdminViewError:
        try:
            return self._by.reconciler.reconcile(target, until=self._until)
        except AdminViewError as error:
            return error

    def _settle(self, case: Case, all_outcomes: Mapping[str, Outcome]) -> bool:
        """Decide what becomes of a letter, and tell whether it may be deleted."""
        outcomes = [all_outcomes[owner] for owner in dict.fromkeys(case.owners)]
        problems = [*case.problems, *(one.problem for one in outcomes if one.problem)]
        message = case.errand.message
        if refused := [one for one in problems if isinstance(one, ServiceError)]:
            self._note(message, Fate.LEFT, refused[0])
            return False
        if problems:
            self._failed.add(case.errand.about)
            expired = isinstance(problems[0], ExpiredRecordsError)
            self._note(message, Fate.EXPIRED if expired else Fate.FAILING, problems[0])
            return self._write_anew(case, problems[0], outcomes)
        changed = any(not outcome.unchanged for outcome in outcomes)
        self._note(message, Fate.RECONCILED if changed else Fate.UNCHANGED)
        return True

    def _write_anew(self, case: Case, problem: AdminViewError, outcomes: Iterable[Outcome]) -> bool:
        """Write a letter anew with what was learned, and tell whether the queue took it.

        Of Lambda's letters only what still fails stays, item by item: the stream will forget them.
        """
        by = self._by
        if case.is_whole_batch:
            mail = [*case.item_letters(outcomes, by.reconciler.model)]
        else:
            mail = [case.tried_again(problem, by.now())]
        unsent, _ = by.post.send(mail, until=self._end, delay_seconds=by.retry_seconds)
        return not unsent

    def _note(self, message: Message, fate: Fate, error: AdminViewError | None = None) -> None:
        self.summary.fates[fate] += 1
        reason = f"{kind_of(error)}: {reason_of(error)}" if error else ""
        if reason:
            self.summary.reasons[reason] += 1
        self._tell(message, fate, reason)
