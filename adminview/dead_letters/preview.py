"""Preview a replay. Writes nothing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from adminview.aws.deadline import Deadline
from adminview.dead_letters.replay import PATIENCE, Replayer, ReplayItem
from adminview.dead_letters.resolve import ResolvedLetter
from adminview.model.errors import AdminViewError, kind_of, reason_of
from adminview.reconcile.item_ref import ItemRef
from adminview.reconcile.reconciler import ReconcilePlan


@dataclass(frozen=True, slots=True)
class ReplayPreview:
    """An item, the number of its dead letters, and what its reconcile would do."""

    about: str
    letters: int
    plan: ReconcilePlan | None = None
    problem: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the preview as JSON data, without the data of rows."""
        plan = self.plan
        return {
            "item": self.about,
            "letters": self.letters,
            "put": sorted(plan.puts) if plan else [],
            "delete": sorted(plan.deletes) if plan else [],
            "problem": self.problem,
        }


def preview(replayer: Replayer, letters: Iterable[ResolvedLetter]) -> Iterator[ReplayPreview]:
    """Yield a plan for each item that the dead letters name, or the problem that prevents one."""
    items: dict[str, tuple[ItemRef, int]] = {}
    for resolved in letters:
        replay_item = ReplayItem.of(resolved, replayer.resolver, Deadline.after(PATIENCE))
        for problem in replay_item.problems:
            yield ReplayPreview(resolved.about, 1, problem=_message(problem))
        for target in replay_item.targets:
            known, count = items.get(target.owner, (target, 0))
            merged = replace(known, rows=known.rows | target.rows)
            items[target.owner] = merged, count + 1
    for owner, (target, count) in items.items():
        try:
            yield ReplayPreview(
                owner, count, replayer.reconciler.plan(target, deadline=Deadline.after(PATIENCE))
            )
        except AdminViewError as error:
            yield ReplayPreview(owner, count, problem=_message(error))


def _message(error: AdminViewError) -> str:
    return f"{kind_of(error)}: {reason_of(error)}"
