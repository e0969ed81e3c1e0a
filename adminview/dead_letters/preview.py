"""What a replay would do, without doing it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from adminview.aws.deadline import Deadline
from adminview.dead_letters.replay import PATIENCE, Replayer
from adminview.dead_letters.replay_item import ReplayItem
from adminview.dead_letters.resolve import ResolvedLetter
from adminview.model.errors import AdminViewError, kind_of, reason_of
from adminview.reconcile.item_ref import ItemRef
from adminview.reconcile.reconciler import ReconcilePlan


@dataclass(frozen=True, slots=True)
class Previewed:
    """An item, how many letters there are for it, and what its reconcile would do."""

    about: str
    letters: int
    plan: ReconcilePlan | None = None
    problem: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Show everything as plain data, but no data of rows."""
        plan = self.plan
        return {
            "item": self.about,
            "letters": self.letters,
            "put": sorted(plan.puts) if plan else [],
            "delete": sorted(plan.deletes) if plan else [],
            "problem": self.problem,
        }


def preview(by: Replayer, resolver: Iterable[ResolvedLetter]) -> Iterator[Previewed]:
    """Plan the reconcile of each item that letters name, and of those that cannot be, say why."""
    items: dict[str, tuple[ItemRef, int]] = {}
    for resolved in resolver:
        case = ReplayItem.of(resolved, by.resolver, Deadline.after(PATIENCE))
        for problem in case.problems:
            yield Previewed(resolved.about, 1, problem=_told(problem))
        for target in case.targets:
            known, count = items.get(target.owner, (target, 0))
            merged = replace(known, rows=known.rows | target.rows)
            items[target.owner] = merged, count + 1
    for owner, (target, count) in items.items():
        try:
            yield Previewed(
                owner, count, by.reconciler.plan(target, deadline=Deadline.after(PATIENCE))
            )
        except AdminViewError as error:
            yield Previewed(owner, count, problem=_told(error))


def _told(error: AdminViewError) -> str:
    return f"{kind_of(error)}: {reason_of(error)}"
