"""Replay dead letters whose items can be derived again: an item or a view was fixed.

A deployment replays all dead letters every ten minutes. Nobody waits so long at a terminal.
"""

from collections.abc import Callable
from dataclasses import dataclass

from adminview.aws.deadline import Deadline
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.dead_letters.replay import Replayer
from adminview.dead_letters.replay_summary import LetterOutcome
from adminview.dead_letters.resolve import ResolvedLetter
from adminview.local.dev.rebuild import count
from adminview.model.errors import RecordError
from adminview.model.item import AttributeValue, Image
from adminview.model.limits import ROW_LIMIT
from adminview.reconcile.item_ref import ItemRef
from adminview.sync.derive import derive

SECONDS = 30.0
REPLAYED = (LetterOutcome.RECONCILED, LetterOutcome.UNCHANGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutdatedFilter(LetterFilter):
    """Matches dead letters about items whose views succeed now. *read* returns a source item."""

    read: Callable[[str, dict[str, AttributeValue]], Image | None]

    def matches(self, resolved: ResolvedLetter, now: float) -> bool:  # noqa: ARG002 - not by age
        return bool(resolved.targets) and all(map(self._derives, resolved.targets))

    def _derives(self, target: ItemRef) -> bool:
        try:
            item = self.read(target.route.table, dict(target.key))
            derive(target.route.views, item, room=ROW_LIMIT)
        except RecordError:
            return False
        return True


def replay_outdated(replayer: Replayer, letter_filter: OutdatedFilter) -> str:
    """Replay the dead letters that match; return a line about it, "" if there is none."""
    end = Deadline.after(SECONDS)
    summary = replayer.replay(letter_filter, deadline=end, end=end)
    number = sum(summary.outcomes[outcome] for outcome in REPLAYED)
    if not number:
        return ""
    replayed = f"replayed {number} dead letter{'' if number == 1 else 's'} of fixed items"
    return f"{replayed}: {count(summary.rows_put, 'row put')}, {summary.rows_deleted} deleted"
