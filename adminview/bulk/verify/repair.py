"""Repair what a verification found, an item at a time; whatever happens, the next one follows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from adminview.aws.deadline import Deadline
from adminview.bulk.verify.compare_page import target_of
from adminview.bulk.verify.differences import Difference, Kind, judge
from adminview.bulk.verify.run import REPAIRED
from adminview.model.errors import RecordError, RepairError, ServiceError, kind_of
from adminview.reconcile.item_ref import ItemRef
from adminview.reconcile.reconciler import Reconciler
from adminview.sync.decode import Route

PART = (
    "an item that this run cannot look at may derive it; verify all sources without --sample, "
    "when no view raises, to repair it"
)
ADVICE = "no repair can please both: put the item's key into the row's key"


@dataclass(frozen=True, slots=True)
class Repairer:
    """The reconciler, and where items are."""

    routes: Mapping[str, Route]  # by the names of their sources
    reconciler: Reconciler
    deadline: Callable[[], Deadline]

    def repair_row(
        self, differences: Sequence[Difference], *, whole: bool
    ) -> dict[Difference, str]:
        """Repair the differences of one item, and say what became of each.

        *whole*: everything is verified, so that a row which names no item is nobody's for sure.
        """
        hopeless = {one: _why(one) for one in differences if one.both or one.kind is Kind.FAILING}
        rest = [one for one in differences if one not in hopeless]
        try:
            return hopeless | self._mend(rest, whole=whole)
        except (RecordError, RepairError, ServiceError) as error:
            return hopeless | dict.fromkeys(rest, f"{kind_of(error)}: {error}")

    def _mend(self, differences: Sequence[Difference], *, whole: bool) -> dict[Difference, str]:
        if not differences:
            return {}
        rows = [one.row for one in differences if one.row]
        owner = differences[0].owner
        target = target_of(self.routes, owner, rows) if owner else None
        if target is None and not whole:
            return dict.fromkeys(differences, PART)
        if not owner:
            return self._delete_ownerless(differences)
        for one in differences:
            self._clear(one)
        if target is None:
            for row in rows:
                self.reconciler.rows.delete(owner, row, deadline=self.deadline())
            return dict.fromkeys(differences, REPAIRED)
        return self._reconcile(target, differences)

    def _delete_ownerless(self, differences: Sequence[Difference]) -> dict[Difference, str]:
        for one in differences:
            if one.row:
                self.reconciler.rows.delete_ownerless(one.row, deadline=self.deadline())
        return dict.fromkeys(differences, REPAIRED)

    def _clear(self, difference: Difference) -> None:
        """Let the item that a row names by mistake give it up."""
        if not difference.other or not difference.row:
            return
        other = target_of(self.routes, difference.other, [difference.row])
        if other is None:
            rows = self.reconciler.rows
            rows.delete(difference.other, difference.row, deadline=self.deadline())
        else:
            self.reconciler.reconcile(other, deadline=self.deadline())

    def _reconcile(
        self, target: ItemRef, differences: Sequence[Difference]
    ) -> dict[Difference, str]:
        """Reconcile an item. One row may be refused: the others are written all the same."""
        try:
            self.reconciler.reconcile(target, deadline=self.deadline())
        except RecordError as error:
            plan = self.reconciler.plan(target, deadline=self.deadline())
            left = {one.row for one in judge(plan, target.route.source.name)}
            reason = f"{kind_of(error)}: {error}"
            return {one: reason if one.row in left else REPAIRED for one in differences}
        return dict.fromkeys(differences, REPAIRED)


def _why(difference: Difference) -> str:
    return ADVICE if difference.both else "its views raise: fix and deploy them, or fix the item"
