"""A dead letter during a replay: its items, their outcomes, and its replacements."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from adminview.aws.deadline import Deadline
from adminview.dead_letters.resolve import LetterResolver, ResolvedLetter, UnreadableRecord
from adminview.model.dead_letter import (
    BatchLetter,
    InDoubtLetter,
    ItemOrigin,
    OutgoingLetter,
    RecordLetter,
    retried,
)
from adminview.model.errors import AdminViewError
from adminview.reconcile.item_ref import ItemRef
from adminview.reconcile.reconciler import Reconciled
from adminview.sync.dead_letter import dead_letter, identify


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
