"""The scope of a verification: everything or a sample, of all sources or one."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from math import ceil
from random import Random
from typing import Any

from adminview.bulk.segment import MOST_SEGMENTS
from adminview.model.errors import SettingsError

GRACE_SECONDS = 15.0
MOST_CUTS = 1_000_000  # segments of a table, set by DynamoDB
FINENESS = 10  # cuts per segment at least, so that a sample is close to its share
SHARES = 1_000_000  # parts of the totals; a sample consists of some of them
CHOSEN = ("seed", "after", "removable")  # by a run, not by its options


class VerifyPhase(StrEnum):
    """A run of a verification.

    Items are compared with their rows, then rows with their items. To verify totals, they are read,
    the rows are added up, and both are compared.
    """

    ITEMS = "items"
    ROWS = "rows"
    TOTALS = "totals"
    SUMS = "sums"
    COMPARISON = "comparison"


@dataclass(frozen=True, slots=True)
class Scope:
    """The parameters of a verification. It can only be resumed with the same ones."""

    segments: int = 4  # per table
    sample: float = 1.0
    repair: bool = False
    grace: float = GRACE_SECONDS  # seconds that a change may take to reach the view
    seed: int = 0  # of the sample
    after: int = 0  # in a later phase: the generation of the one before it
    removable: bool = False  # in the second phase: whether no item derives a row that names none

    def check(self) -> "Scope":
        """Return the scope; raise a SettingsError if a parameter is invalid."""
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

    def numbers(self, table: str) -> tuple[int, Sequence[int]]:
        """Return how many segments a table has, and those to read: all of them, or a sample.

        Even an empty segment costs a call, so a small sample is few segments out of very many.
        """
        total, count = self._cut
        if count == total:
            return total, range(total)
        chosen = Random(f"{self.seed}/{table}")  # noqa: S311 - a sample, not a secret
        return total, sorted(chosen.sample(range(total), count))

    @property
    def _cut(self) -> tuple[int, int]:
        """How many segments a table has, and how many are read."""
        if self.sample == 1:
            return self.segments, self.segments
        total = max(ceil(self.segments / self.sample), self.segments * FINENESS)
        total = min(total, MOST_CUTS)
        return total, max(1, round(total * self.sample))

    def count(self, tables: Sequence[str]) -> int:
        """Return the number of segments of a run over these tables."""
        return len(tables) * self._cut[1]

    def part(self, tables: Sequence[str], number: int) -> tuple[str, tuple[int, int]]:
        """Return the table of a segment of the run, and Segment and TotalSegments of its scan."""
        place, position = divmod(number, self._cut[1])
        total, numbers = self.numbers(tables[place])
        return tables[place], (numbers[position], total)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def unlike(self, other: Mapping[str, Any]) -> list[str]:
        """Name the options in which the JSON of another run differs."""
        own = self.to_json().items()
        return [name for name, value in own if name not in CHOSEN and other.get(name) != value]

    def follows(self, generation: int, *, removable: bool) -> "Scope":
        """Return the scope of the next phase."""
        return replace(self, after=generation, removable=removable)
