"""Prints what the sync and the totals function did, and why an item was dead-lettered."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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


@dataclass(slots=True)
class BatchPrinter:
    """An observer of both functions that prints a line per batch, and each traceback once."""

    say: Callable[[str], None]
    explain: Callable[[AnyLetter], str] = lambda _: ""  # a traceback, if there is one
    batches: int = 0  # that the sync has done so far
    add: Callable[[BatchCounts], object] = lambda _: None  # keeps the counts of a batch
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
        self.dead_lettered(letters)
        if errors:
            self.say(f"  failed calls: {', '.join(errors)}")
        self.add(counts)
        self.batches += 1

    def counted(self, counts: Mapping[str, Any], errors: CallErrors) -> None:
        skipped = counts["malformed"] + counts["refused"]
        self.say(
            f"totals: {count(counts['records'], 'row changed')}; "
            f"{count(counts['updates'], 'total updated')}, "
            f"{skipped} contributions skipped, {counts['redelivered']} records redelivered"
        )
        if errors:
            self.say(f"  failed calls: {', '.join(errors)}")

    def dead_lettered(self, letters: Iterable[OutgoingLetter]) -> None:
        """Print each dead letter, and the traceback of an error that was not printed before."""
        for outgoing in letters:
            letter = from_json(outgoing.body)
            self.say(f"  dead letter: {_item_of(letter)}: {outgoing.error}: {outgoing.reason}")
            if outgoing.reason not in self._explained and (trace := self.explain(letter)):
                self._explained.add(outgoing.reason)
                self.say("\n".join(f"    {line}" for line in trace.splitlines()))

    def forget(self) -> None:
        """Print tracebacks again: the view files have changed."""
        self._explained.clear()


def _item_of(letter: AnyLetter) -> str:
    """Name the items of a dead letter."""
    items = [letter.owner] if isinstance(letter, RecordLetter) else []
    if isinstance(letter, InDoubtLetter):
        items = [item.owner for item in letter.items]
    return ", ".join(item or "unknown item" for item in items) or "unknown items"
