"""The state of a verification of totals, and what a pass over the view decides. Pure."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from adminview.bulk.verify.scope import Scope
from adminview.model.row import Attributes
from adminview.totals.changes import Amounts, Group, add, contributions
from adminview.totals.comparison import (
    ABSENT,
    StoredTotal,
    TotalDifference,
    part_of,
    without_zeros,
)

KEPT: Final = 1000  # differences that are listed; further ones are only counted


@dataclass(slots=True)
class TotalsPass:
    """One pass over the view: the totals before it, and the sums of the rows read so far."""

    groups: Callable[[Group], bool]  # whether the pass is about a group
    before: dict[Group, StoredTotal]
    open: dict[int, Attributes | None]  # segments, each with the start of its next page
    sums: dict[Group, Amounts] = field(default_factory=dict)

    def add(self, rows: Iterable[Attributes]) -> None:
        """Add the contributions of rows; malformed ones are skipped."""
        for row in rows:
            for group, amounts in contributions(row)[0].items():
                if self.groups(group):
                    add(self.sums.setdefault(group, {}), amounts)

    def expected(self, group: Group) -> Amounts:
        return without_zeros(self.sums.get(group, {}))

    @property
    def compared(self) -> Collection[Group]:
        """The groups that have a row or a total that is not empty."""
        stored = [group for group, total in self.before.items() if total.amounts]
        return dict.fromkeys([*stored, *(group for group in self.sums if self.expected(group))])

    @property
    def candidates(self) -> list[Group]:
        """The groups whose total was not the sum of the rows."""
        return [
            group
            for group in self.compared
            if self.before.get(group, ABSENT).amounts != self.expected(group)
        ]

    def judge(
        self, after: Mapping[Group, StoredTotal], declared: Callable[[str], bool]
    ) -> "Judgement":
        """Compare the candidates with their totals *after* the scan and a grace period.

        *declared* returns whether a partition key belongs to a declared total and epoch.
        """
        judgement = Judgement()
        for group in self.candidates:
            stored, expected = after.get(group, ABSENT), self.expected(group)
            if stored.amounts == expected:
                continue  # it was a change in flight
            if stored != self.before.get(group, ABSENT):
                judgement.changing.append(group)
            elif not expected and not declared(group[0]):
                judgement.abandoned[group] = stored
            else:
                difference = TotalDifference.between(group, expected, stored.amounts)
                judgement.differing.append(difference)
        return judgement

    def to_json(self) -> dict[str, Any]:
        return {
            "before": [
                [*group, _to_json(total.amounts), total.version]
                for group, total in self.before.items()
            ],
            "sums": [[*group, _to_json(amounts)] for group, amounts in self.sums.items()],
            "open": [[number, start] for number, start in self.open.items()],
        }

    @classmethod
    def from_json(cls, parts: int, part: int, data: Mapping[str, Any]) -> "TotalsPass":
        """Restore a pass over one part of the groups."""
        return cls(
            groups_of(parts, part),
            {
                (partition, sort): StoredTotal(_from_json(amounts), version)
                for partition, sort, amounts, version in data["before"]
            },
            dict(data["open"]),
            {(partition, sort): _from_json(amounts) for partition, sort, amounts in data["sums"]},
        )


@dataclass(slots=True)
class Judgement:
    """The verdicts of a pass on totals that differed, and still differ after the second read."""

    changing: list[Group] = field(default_factory=list)  # not decided
    # Totals of another epoch or model that are not empty and to which no row contributes.
    abandoned: dict[Group, StoredTotal] = field(default_factory=dict)
    differing: list[TotalDifference] = field(default_factory=list)


@dataclass(slots=True)
class TotalsRun:
    """The state of one verification of totals. Its counts add up.

    totals = equal + in_flight + changing + abandoned + differing
    """

    scope: Scope
    parts: int = 1  # that the groups are divided into
    left: list[int] = field(default_factory=list)  # parts that are not verified yet
    counts: Counter[str] = field(default_factory=Counter)
    differences: list[TotalDifference] = field(default_factory=list)
    scanned: int = 0  # rows, in all passes

    @property
    def finished(self) -> bool:
        return not self.left

    def count(self, going: TotalsPass, judgement: Judgement) -> None:
        """Count the first pass over a part."""
        compared, candidates = len(going.compared), len(going.candidates)
        self.counts.update(totals=compared, equal=compared - candidates)
        self.decide(candidates, judgement)

    def decide(self, candidates: int, judgement: Judgement) -> None:
        """Count the verdicts on *candidates* totals; list differences while there is room."""
        differing, abandoned = judgement.differing, len(judgement.abandoned)
        in_flight = candidates - len(differing) - len(judgement.changing) - abandoned
        self.counts.update(in_flight=in_flight, differing=len(differing), abandoned=abandoned)
        self.differences += differing[: max(0, KEPT - len(self.differences))]


def groups_of(parts: int, part: int) -> Callable[[Group], bool]:
    """Return a function that returns whether a group is in *part*, one of *parts* parts."""
    return lambda group: part_of(group, parts) == part


def _to_json(amounts: Amounts) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def _from_json(amounts: Mapping[str, str]) -> Amounts:
    return {name: Decimal(amount) for name, amount in amounts.items()}
