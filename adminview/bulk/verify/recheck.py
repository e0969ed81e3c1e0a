"""A second look at a suspect, with consistent reads: the last word."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil

from adminview.aws.deadline import Deadline
from adminview.aws.rate_limit import RateLimiter
from adminview.bulk.verify.candidates import Candidate
from adminview.bulk.verify.compare_page import target_of
from adminview.bulk.verify.differences import (
    OWNERLESS,
    STRANGE,
    Difference,
    Kind,
    digest,
    failing,
    judge,
    views_that_derive,
)
from adminview.bulk.verify.scope import VerifyPhase
from adminview.model.errors import RecordError
from adminview.model.item import Image
from adminview.model.limits import row_size
from adminview.model.row import OWNER, Attributes
from adminview.reconcile.item_ref import ItemRef
from adminview.reconcile.reconciler import ReconcilePlan, Reconciler
from adminview.sync.decode import Route

UNIT = 4096  # bytes that a unit reads consistently, set by DynamoDB


@dataclass(frozen=True, slots=True)
class Observation:
    """What a look showed, and of which state of the item."""

    digest: str
    differences: tuple[Difference, ...]
    cost: float = 0.0  # read units that it took, and that a repair takes again


@dataclass(frozen=True, slots=True)
class Rechecker:
    """Where items and rows are."""

    routes: Mapping[str, Route]  # by the names of their sources
    reconciler: Reconciler
    budget: RateLimiter
    deadline: Callable[[], Deadline]

    def look(self, candidate: Candidate, *, all_: bool) -> Observation:
        """Look at a suspect: at all that differs, or only at what its stage is to find.

        Rows that an item should have are found from the item, and those it should not have from
        the rows. So each difference is found once; but a repair takes both away together.
        """
        self.budget.wait()
        target = target_of(self.routes, candidate.owner, candidate.rows)
        if target is None:
            return Observation(candidate.digest, tuple(self._strangers(candidate)))
        try:
            plan = self.reconciler.plan(target, deadline=self.deadline())
        except RecordError as error:
            item = self.reconciler.sources.read(
                target.route.table, dict(target.key), deadline=self.deadline()
            )
            self.budget.spend(2 * _cost(item))
            return Observation(digest(item), (failing(error, candidate.source, candidate.owner),))
        cost = _cost(plan.item, *plan.found.values()) + len(
            plan.expected.keys() - plan.found.keys()
        )
        self.budget.spend(cost)
        found = [one for one in judge(plan, candidate.source) if all_ or _is_due(one, candidate)]
        differences = tuple(self._complete(one, target, plan) for one in found)
        return Observation(digest(plan.item), differences, cost)

    def _strangers(self, candidate: Candidate) -> Iterator[Difference]:
        """Find the rows that still name no item of a declared source."""
        rows = self.reconciler.rows.read(candidate.rows, deadline=self.deadline())
        self.budget.spend(_cost(*rows.values()))
        what = STRANGE if candidate.owner else OWNERLESS
        for key, row in rows.items():
            if row.get(OWNER, {}).get("S", "") == candidate.owner:
                yield Difference(Kind.ORPHANED, candidate.source, candidate.owner, key, what)

    def _complete(self, difference: Difference, target: ItemRef, plan: ReconcilePlan) -> Difference:
        """Find out whether the item that a row names derives it too."""
        row = difference.row
        if difference.kind is not Kind.TWO_OWNERS or row is None:
            return difference
        other = target_of(self.routes, difference.other, [row])
        if other is None:
            return replace(difference, what=f"{difference.what}: {STRANGE}")
        try:
            theirs = self.reconciler.plan(other, deadline=self.deadline())
        except RecordError:
            return replace(difference, what=f"{difference.what}, whose views raise")
        self.budget.spend(_cost(theirs.item, *theirs.found.values()))
        if row not in theirs.expected:
            return replace(difference, what=f"{difference.what}, which does not derive it")
        names = [
            ", ".join(views_that_derive(one.route, item, row))
            for one, item in ((target, plan.item), (other, theirs.item))
        ]
        what = f"{difference.what}; both derive it, by view {names[0]} and by view {names[1]}"
        return replace(difference, what=what, both=True)


def _is_due(difference: Difference, candidate: Candidate) -> bool:
    """Tell whether this stage is to find a difference."""
    if candidate.stage is VerifyPhase.ROWS:
        return difference.kind is Kind.ORPHANED and difference.row in candidate.rows
    return difference.kind is not Kind.ORPHANED


def _cost(*read: Image | Attributes | None) -> float:
    """Reckon the units of a look: of each thing read, and of asking the owner index."""
    return 1 + sum(max(1, ceil(row_size(dict(one)) / UNIT)) for one in read if one)
