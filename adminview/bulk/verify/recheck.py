"""Recheck a candidate with consistent reads. The result is final."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil

from adminview.aws.deadline import Deadline
from adminview.aws.rate_limit import RateLimiter
from adminview.bulk.verify.compare_page import target_of
from adminview.bulk.verify.differences import (
    OWNERLESS,
    UNKNOWN_OWNER,
    Difference,
    Kind,
    digest,
    failing,
    find_differences,
    views_that_derive,
)
from adminview.bulk.verify.run import Candidate
from adminview.bulk.verify.scope import VerifyPhase
from adminview.model.errors import RecordError
from adminview.model.item import Image
from adminview.model.limits import row_size
from adminview.model.row import OWNER, Attributes
from adminview.reconcile.item_ref import ItemRef
from adminview.reconcile.reconciler import ReconcilePlan, Reconciler
from adminview.sync.decode import Route

UNIT = 4096  # bytes per unit of a consistent read, set by DynamoDB


@dataclass(frozen=True, slots=True)
class Observation:
    """The differences that a recheck found, and the digest of the item it read."""

    digest: str
    differences: tuple[Difference, ...]
    cost: float = 0.0  # read units; a repair takes as many again


@dataclass(frozen=True, slots=True)
class Rechecker:
    routes: Mapping[str, Route]  # by source name
    reconciler: Reconciler
    budget: RateLimiter
    deadline: Callable[[], Deadline]

    def recheck(self, candidate: Candidate, *, all_: bool) -> Observation:
        """Find all differences of a candidate, or only those that its phase reports.

        The items phase reports missing and stale rows, the rows phase orphans, so each difference
        is reported once. A repair needs all of them.
        """
        self.budget.wait()
        target = target_of(self.routes, candidate.owner, candidate.rows)
        if target is None:
            return Observation(candidate.digest, tuple(self._unowned(candidate)))
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
        differences = tuple(
            self._complete(difference, target, plan)
            for difference in find_differences(plan, candidate.source)
            if all_ or _is_due(difference, candidate)
        )
        return Observation(digest(plan.item), differences, cost)

    def _unowned(self, candidate: Candidate) -> Iterator[Difference]:
        """Yield the rows whose owner still names no item of a declared source."""
        rows = self.reconciler.rows.read(candidate.rows, deadline=self.deadline())
        self.budget.spend(_cost(*rows.values()))
        what = UNKNOWN_OWNER if candidate.owner else OWNERLESS
        for key, row in rows.items():
            if row.get(OWNER, {}).get("S", "") == candidate.owner:
                yield Difference(Kind.ORPHANED, candidate.source, candidate.owner, key, what)

    def _complete(self, difference: Difference, target: ItemRef, plan: ReconcilePlan) -> Difference:
        """Check whether the item that a row names derives it too."""
        row = difference.row
        if difference.kind is not Kind.TWO_OWNERS or row is None:
            return difference
        other = target_of(self.routes, difference.other, [row])
        if other is None:
            return replace(difference, what=f"{difference.what}: {UNKNOWN_OWNER}")
        try:
            other_plan = self.reconciler.plan(other, deadline=self.deadline())
        except RecordError:
            return replace(difference, what=f"{difference.what}, whose views raise")
        self.budget.spend(_cost(other_plan.item, *other_plan.found.values()))
        if row not in other_plan.expected:
            return replace(difference, what=f"{difference.what}, which does not derive it")
        names = [
            ", ".join(views_that_derive(ref.route, item, row))
            for ref, item in ((target, plan.item), (other, other_plan.item))
        ]
        what = f"{difference.what}; both derive it, by view {names[0]} and by view {names[1]}"
        return replace(difference, what=what, both=True)


def _is_due(difference: Difference, candidate: Candidate) -> bool:
    """Return whether the candidate's phase reports a difference."""
    if candidate.stage is VerifyPhase.ROWS:
        return difference.kind is Kind.ORPHANED and difference.row in candidate.rows
    return difference.kind is not Kind.ORPHANED


def _cost(*read: Image | Attributes | None) -> float:
    """Estimate the read units: of each item and row, and of the query to the owner index."""
    return 1 + sum(max(1, ceil(row_size(dict(image)) / UNIT)) for image in read if image)
