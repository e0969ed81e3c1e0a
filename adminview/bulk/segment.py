"""A segment of a table, and the state of the work on it. Plain data."""

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

    run: str  # the task and its subject, such as "backfill/Orders"
    number: int
    of: int
    generation: int = 1  # counts the runs of that name; a state of an older one is no progress

    @property
    def part(self) -> tuple[int, int]:
        """Return Segment and TotalSegments of a Scan."""
        return self.number, self.of


@dataclass(frozen=True, slots=True)
class SegmentState:
    """The state of a segment that must survive a crash.

    *intent* describes a page in progress. If a stored state has one, its rows may be half written
    and must be recovered first.
    """

    segment: Segment
    model: str
    start: Attributes | None = None  # where the next page begins
    intent: list[Any] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    last_read: bool = False  # whether the last page has been read
    waiting: list[Any] = field(default_factory=list)  # to be checked again, each with its time
    findings: list[Any] = field(default_factory=list)  # a bounded list of examples
    done: bool = False
    # The lease: who works on it, and until when nobody else may.
    holder: str = ""
    deadline: float = 0.0
    version: int = 0
    paid_at: float = 0.0  # when the budget covers what the work has used

    def to_json(self) -> str:
        return dumps(
            {
                "model": self.model,
                "start": self.start,
                "intent": self.intent,
                "counts": self.counts,
                "last_read": self.last_read,
                "waiting": self.waiting,
                "findings": self.findings,
                "done": self.done,
            }
        )

    @classmethod
    def read(cls, segment: Segment, text: str, **lease: Any) -> "SegmentState":
        state: Mapping[str, Any] = loads(text)
        return cls(segment, **{**state, "counts": Counter(state["counts"])}, **lease)
