"""The scope of a verification: everything or a sample, of all sources or one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from math import ceil
from typing import Any

from adminview.model.errors import SettingsError

MOST_SEGMENTS = 1000
MOST_CUTS = 1_000_000  # segments of a table, set by DynamoDB
FINENESS = 10  # cuts per segment at least, so that a sample is close to its share

Choose = Callable[[Sequence[int], int], list[int]]  # such as random.sample


class VerifyPhase(StrEnum):
    """The two directions: items against their rows, then rows against their items."""

    ITEMS = "items"
    ROWS = "rows"


@dataclass(frozen=True, slots=True)
class ScopeSegment:
    """A part of a table, read by one thread."""

    stage: VerifyPhase
    source: str  # empty for the view
    number: int
    total: int


@dataclass(frozen=True, slots=True)
class Scope:
    """The parameters of a run. A run can only be resumed with the same ones."""

    view_table: str
    model: str
    source: str | None = None
    segments: int = 4
    sample: float = 1.0
    repair: bool = False
    place: str = ""  # distinguishes deployments whose tables have the same names

    def check(self, sources: Iterable[str]) -> "Scope":
        """Return the scope; raise a SettingsError if a parameter is invalid."""
        declared = sorted(sources)
        if self.source is not None and self.source not in declared:
            msg = f"no source is named {self.source!r}; declared: {', '.join(declared)}"
            raise SettingsError(msg)
        if isinstance(self.segments, bool) or not isinstance(self.segments, int):
            msg = f"the number of segments must be a whole number, not {self.segments!r}"
            raise SettingsError(msg)
        if not 1 <= self.segments <= MOST_SEGMENTS:
            msg = f"{self.segments} segments: choose 1 to {MOST_SEGMENTS}"
            raise SettingsError(msg)
        if not isinstance(self.sample, int | float) or not 0 < self.sample <= 1:
            msg = f"a sample of {self.sample!r}: choose a share above 0 and up to 1, such as 0.01"
            raise SettingsError(msg)
        return self

    @property
    def complete(self) -> bool:
        """Return whether the run covers everything."""
        return self.source is None and self.sample == 1

    def sources(self, declared: Iterable[str]) -> list[str]:
        return [self.source] if self.source is not None else list(declared)

    def cut(self, declared: Iterable[str], choose: Choose) -> list[ScopeSegment]:
        """Cut the tables into segments; for a sample, choose its share of them."""
        tables = [(VerifyPhase.ITEMS, source) for source in self.sources(declared)]
        return [
            ScopeSegment(stage, source, number, total)
            for stage, source in [*tables, (VerifyPhase.ROWS, "")]
            for total, numbers in [self._numbers(choose)]
            for number in numbers
        ]

    def _numbers(self, choose: Choose) -> tuple[int, list[int]]:
        """Choose segments: at least one per thread, at most ten.

        Even an empty segment costs a call, so a small sample is few segments out of very many.
        """
        if self.sample == 1:
            return self.segments, list(range(self.segments))
        total = max(ceil(self.segments / self.sample), self.segments * FINENESS)
        total = min(total, MOST_CUTS)
        return total, sorted(choose(range(total), max(1, round(total * self.sample))))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def unlike(self, other: Mapping[str, Any]) -> list[str]:
        """Name the parameters in which the JSON of another run differs."""
        return [name for name, value in self.to_json().items() if other.get(name) != value]
