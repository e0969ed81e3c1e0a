"""A segment of a table, and how far the work on it is. Plain data."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from json import dumps, loads
from typing import Any

from adminview.model.row import Attributes

MOST_SEGMENTS = 1000


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of a parallel scan."""

    run: str  # the task and what it is about, as in "backfill/Orders"
    number: int
    of: int
    turn: int = 1  # which of the runs of that name: what an older one left is not progress of this

    @property
    def part(self) -> tuple[int, int]:
        """Say which one, of how many, as a scan wants to hear it."""
        return self.number, self.of


@dataclass(frozen=True, slots=True)
class Record:
    """How far a segment is: what must outlive a crash.

    *noted* is what is in hand: if this record is found with it, the rows that it names may be half
    written, and must be put right first.
    """

    segment: Segment
    model: str
    start: Attributes | None = None  # where the next page begins
    intent: list[Any] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    done: bool = False
    # Who works on it, and when at the latest somebody else may: never two at once.
    holder: str = ""
    deadline: float = 0.0
    version: int = 0
    paid_at: float = 0.0  # when the budget has made good what the work took

    def to_json(self) -> str:
        """Write what the worker keeps as text."""
        return dumps(
            {
                "model": self.model,
                "start": self.start,
                "intent": self.intent,
                "counts": self.counts,
                "done": self.done,
            }
        )

    @classmethod
    def read(cls, segment: Segment, text: str, **lease: Any) -> "Record":
        """Read a record back."""
        given: Mapping[str, Any] = loads(text)
        return cls(segment, **{**given, "counts": Counter(given["counts"])}, **lease)
