"""A letter in hand: what it asks for, what came of it, and how it is written anew."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from adminview.aws.deadline import Deadline
from adminview.dead_letters.resolve import Broken, LetterResolver, ResolvedLetter
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
    """What the reconcile of an item came to."""

    target: ItemRef
    result: Reconciled | AdminViewError

    @property
    def problem(self) -> AdminViewError | None:
        """Say why it failed, if it did."""
        return self.result if isinstance(self.result, AdminViewError) else None

    @property
    def unchanged(self) -> bool:
        """Tell whether all rows were right before."""
        return isinstance(self.result, Reconciled) and self.result.unchanged


@dataclass(slots=True)
class ReplayItem:
    """One letter, with the items it asks for, or with what keeps it from being answered."""

    resolved: ResolvedLetter
    targets: list[ItemRef] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    problems: list[AdminViewError] = field(default_factory=list)
    mail: list[OutgoingLetter] = field(default_factory=list)  # to be sent in its place

    @classmethod
    def of(
        cls, resolved: ResolvedLetter, resolver: LetterResolver, deadline: Deadline
    ) -> "ReplayItem":
        """Find out what a letter asks for."""
        case = cls(resolved)
        try:
            for found in resolver.targets(resolved, deadline):
                if isinstance(found, Broken):
                    case.broken.append(found)
                else:
                    case.targets.append(found)
        except AdminViewError as error:
            return cls(resolved, problems=[error])
        case.problems += (broken.error for broken in case.broken)
        return case

    @property
    def owners(self) -> list[str]:
        """Name the items it asks for."""
        return [target.owner for target in self.targets]

    def write_anew(
        self, problem: AdminViewError, outcomes: Iterable[ReplayOutcome], model: str, now: float
    ) -> None:
        """Write what is to stay in the queue instead of this letter.

        A letter about several items is replaced by one for each that still fails: the stream
        forgets Lambda's records, and one bad item must not keep the others in the queue.
        """
        letter = self.resolved.letter
        if not isinstance(letter, RecordLetter) and (self.targets or self.broken):
            self.mail = [*self._item_letters(letter, outcomes, model)]
        else:
            self.mail = [OutgoingLetter.of(retried(letter, problem, now))]

    def _item_letters(
        self, letter: BatchLetter | InDoubtLetter, outcomes: Iterable[ReplayOutcome], model: str
    ) -> Iterator[OutgoingLetter]:
        for broken in self.broken:
            yield dead_letter(0, identify(broken.record, None, model), broken.error, ())
        stream = letter.records.stream_arn if isinstance(letter, BatchLetter) else None
        for target, problem in ((one.target, one.problem) for one in outcomes):
            if problem:
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
