"""Repair differences, one item at a time. A failed repair does not stop the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adminview.aws.deadline import Deadline
from adminview.bulk.verify.compare_page import target_of
from adminview.bulk.verify.differences import Difference, Kind, find_differences
from adminview.model.errors import RecordError, RepairError, ServiceError, kind_of
from adminview.reconcile.item_ref import ItemRef
from adminview.reconcile.reconciler import Reconciler
from adminview.sync.decode import Route

REPAIRED = "repaired"
OUT_OF_SCOPE = (
    "an item outside the scope of this run may derive it; to repair it, verify all sources "
    "without --share while no view raises"
)
ADVICE = "no repair can satisfy both: put the item's key into the row's key"


@dataclass(frozen=True, slots=True)
class Repairer:
    routes: Mapping[str, Route]  # by source name
    reconciler: Reconciler
    deadline: Deadline

    def repair(
        self, differences: Sequence[Difference], *, removable: bool
    ) -> dict[Difference, str]:
        """Repair the differences of one item, and return the outcome of each.

        *removable*: no item derives a row that names none, so it can be deleted.
        """
        unrepairable = {
            difference: _reason(difference)
            for difference in differences
            if difference.both or difference.kind is Kind.FAILING
        }
        rest = [difference for difference in differences if difference not in unrepairable]
        try:
            return unrepairable | self._repair(rest, removable=removable)
        except (RecordError, RepairError, ServiceError) as error:
            return unrepairable | dict.fromkeys(rest, f"{kind_of(error)}: {error}")

    def _repair(
        self, differences: Sequence[Difference], *, removable: bool
    ) -> dict[Difference, str]:
        if not differences:
            return {}
        rows = [difference.row for difference in differences if difference.row]
        owner = differences[0].owner
        target = target_of(self.routes, owner, rows) if owner else None
        if target is None and not removable:
            return dict.fromkeys(differences, OUT_OF_SCOPE)
        if not owner:
            return self._delete_ownerless(differences)
        for difference in differences:
            self._clear(difference)
        if target is None:
            for row in rows:
                self.reconciler.rows.delete(owner, row, deadline=self.deadline)
            return dict.fromkeys(differences, REPAIRED)
        return self._reconcile(target, differences)

    def _delete_ownerless(self, differences: Sequence[Difference]) -> dict[Difference, str]:
        for difference in differences:
            if difference.row:
                self.reconciler.rows.delete_ownerless(difference.row, deadline=self.deadline)
        return dict.fromkeys(differences, REPAIRED)

    def _clear(self, difference: Difference) -> None:
        """Remove a row from the item that it names by mistake."""
        if not difference.other or not difference.row:
            return
        other = target_of(self.routes, difference.other, [difference.row])
        if other is None:
            rows = self.reconciler.rows
            rows.delete(difference.other, difference.row, deadline=self.deadline)
        else:
            self.reconciler.reconcile(other, deadline=self.deadline)

    def _reconcile(
        self, target: ItemRef, differences: Sequence[Difference]
    ) -> dict[Difference, str]:
        """Reconcile an item. If a row is refused, the others are still written."""
        try:
            self.reconciler.reconcile(target, deadline=self.deadline)
        except RecordError as error:
            plan = self.reconciler.plan(target, deadline=self.deadline)
            left = {
                difference.row for difference in find_differences(plan, target.route.source.name)
            }
            reason = f"{kind_of(error)}: {error}"
            return {
                difference: reason if difference.row in left else REPAIRED
                for difference in differences
            }
        return dict.fromkeys(differences, REPAIRED)


def _reason(difference: Difference) -> str:
    return ADVICE if difference.both else "its views raise: fix and deploy them, or fix the item"
