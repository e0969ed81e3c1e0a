"""Prints what the sync and the totals function did, and why an item was dead-lettered."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from adminview.aws.call_errors import CallErrors
from adminview.local.dev.rebuild import count
from adminview.model.dead_letter import (
    AnyLetter,
    InDoubtLetter,
    OutgoingLetter,
    RecordLetter,
    from_json,
)
from adminview.sync.counts import BatchCounts

MOST_LINES: Final = 3  # about one error of a batch, so that its traceback stays visible
CORRECTED = " (in the item's old version; a replay checks that no row of that version is left)"


@dataclass(slots=True)
class BatchPrinter:
    """An observer of both functions that prints a line per batch, and each traceback once."""

    say: Callable[[str], None]
    explain: Callable[[AnyLetter], str] = lambda _: ""  # a traceback, if there is one
    batches: int = 0  # that the sync has done so far
    add: Callable[[BatchCounts], object] = lambda _: None  # keeps the counts of a batch
    sources: set[str] = field(default_factory=set)  # of the records so far
    _explained: set[str] = field(default_factory=set)

    def invoked(self, request_id: str) -> None: ...

    def synced(
        self, counts: BatchCounts, letters: Sequence[OutgoingLetter], errors: CallErrors
    ) -> None:
        skipped = counts.unchanged + counts.no_view
        source = counts.source or "unknown source"
        self.say(
            f"{source}: {counts.records} read = {counts.written} written + {skipped} skipped + "
            f"{counts.dead_lettered} dead-lettered + {counts.redelivered} redelivered; "
            f"{count(counts.rows_put, 'row put')}, {counts.rows_deleted} deleted"
        )
        self.dead_lettered(letters, corrected=len(letters) > counts.dead_lettered)
        if errors:
            self.say(f"  failed calls: {', '.join(errors)}")
        self.add(counts)
        self.batches += 1
        self.sources.add(source)

    def counted(self, counts: Mapping[str, Any], errors: CallErrors) -> None:
        skipped = counts["malformed"] + counts["refused"]
        if counts["updates"] or skipped or counts["redelivered"]:
            self.say(
                f"totals: {count(counts['records'], 'row changed')}; "
                f"{count(counts['updates'], 'total updated')}, "
                f"{skipped} contributions skipped, {counts['redelivered']} records redelivered"
            )
        if errors:
            self.say(f"  failed calls: {', '.join(errors)}")

    def dead_lettered(self, letters: Iterable[OutgoingLetter], *, corrected: bool = False) -> None:
        """Print the first dead letters of each error, and its traceback if that is new.

        If items were *corrected*, some dead letters are only about their rows before that.
        """
        numbers = Counter[tuple[str, str]]()
        for outgoing in letters:
            numbers[outgoing.error, outgoing.reason] += 1
            if numbers[outgoing.error, outgoing.reason] > MOST_LINES:
                continue
            letter = from_json(outgoing.body)
            known = outgoing.reason in self._explained
            trace = self.explain(letter) if corrected or not known else None
            note = CORRECTED if corrected and trace == "" else ""
            line = f"{_item_of(letter)}: {outgoing.error}: {outgoing.reason}{note}"
            self.say(f"  dead letter: {line}")
            if trace and not known:
                self._explained.add(outgoing.reason)
                self.say("\n".join(f"    {line}" for line in trace.splitlines()))

        for (error, reason), number in numbers.items():
            if number > MOST_LINES:
                self.say(f"  and {number - MOST_LINES} more: {error}: {reason}")

    def forget(self) -> None:
        """Print tracebacks again: the view files have changed."""
        self._explained.clear()


def _item_of(letter: AnyLetter) -> str:
    """Name the items of a dead letter."""
    items = [letter.owner] if isinstance(letter, RecordLetter) else []
    if isinstance(letter, InDoubtLetter):
        items = [item.owner for item in letter.items]
    return ", ".join(item or "unknown item" for item in items) or "unknown items"
