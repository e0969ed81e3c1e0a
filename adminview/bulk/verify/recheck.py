"""Recheck a candidate with consistent reads. The result is final."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from adminview.aws.deadline import Deadline
from adminview.bulk.verify.compare_page import Candidate, target_of
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
from adminview.bulk.verify.scope import VerifyPhase
from adminview.model.errors import RecordError
from adminview.model.row import OWNER
from adminview.reconcile.item_ref import ItemRef
from adminview.reconcile.reconciler import ReconcilePlan, Reconciler
from adminview.sync.decode import Route


@dataclass(frozen=True, slots=True)
class Observation:
    """The differences that a recheck found, and the digest of the item it read."""

    digest: str
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Rechecker:
    routes: Mapping[str, Route]  # by source name
    reconciler: Reconciler
    deadline: Deadline

    def recheck(self, candidate: Candidate) -> Observation:
        """Find the differences of a candidate that its phase reports.

        The items phase reports missing and stale rows, the rows phase orphans, so each difference
        is reported once.
        """
        target = target_of(self.routes, candidate.owner, candidate.rows)
        if target is None:
            return Observation(candidate.digest, tuple(self._unowned(candidate)))
        try:
            plan = self.reconciler.plan(target, deadline=self.deadline)
        except RecordError as error:
            item = self.reconciler.sources.read(
                target.route.table, dict(target.key), deadline=self.deadline
            )
            return Observation(digest(item), (failing(error, candidate.source, candidate.owner),))
        differences = tuple(
            self._complete(difference, target, plan)
            for difference in find_differences(plan, candidate.source)
            if _is_due(difference, candidate)
        )
        return Observation(digest(plan.item), differences)

    def _unowned(self, candidate: Candidate) -> Iterator[Difference]:
        """Yield the rows whose owner still names no item of a declared source."""
        rows = self.reconciler.rows.read(candidate.rows, deadline=self.deadline)
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
            other_plan = self.reconciler.plan(other, deadline=self.deadline)
        except RecordError:
            return replace(difference, what=f"{difference.what}, whose views raise")
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
    if candidate.phase is VerifyPhase.ROWS:
        return difference.kind is Kind.ORPHANED and difference.row in candidate.rows
    return difference.kind is not Kind.ORPHANED
