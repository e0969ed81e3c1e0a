"""Items and rows that differed in a page comparison and wait for a recheck."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from adminview.bulk.verify.scope import VerifyPhase
from adminview.model.row import RowKey

ROOM = 1000  # candidates; scanning pauses when there are more


@dataclass(frozen=True, slots=True)
class Candidate:
    """An item, or rows of one, that may differ from the view."""

    stage: VerifyPhase
    source: str
    owner: str  # empty for a row without an owner
    rows: frozenset[RowKey]
    digest: str  # of the item at the last check
    weight: int  # how many scanned items or rows it stands for
    looks: int = 1

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"stage": self.stage.value, "rows": sorted(map(list, self.rows))}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Candidate":
        rows = frozenset((pk, sk) for pk, sk in data["rows"])
        return cls(**{**data, "stage": VerifyPhase(data["stage"]), "rows": rows})


class Candidates:
    """A queue in which each candidate waits for its grace period. Not thread-safe: `Run` locks."""

    def __init__(self, grace: float, room: int, clock: Callable[[], float]) -> None:
        self.grace = grace
        self._room = room
        self._clock = clock
        self._waiting: deque[tuple[float, Candidate]] = deque()  # ordered by due time
        self._taken: list[Candidate] = []

    def __len__(self) -> int:
        return len(self._waiting) + len(self._taken)

    @property
    def weight(self) -> int:
        """Return how many scanned items and rows the candidates stand for."""
        return sum(candidate.weight for candidate in self._all)

    @property
    def full(self) -> bool:
        return len(self) >= self._room

    @property
    def rest(self) -> float | None:
        """Return the seconds until the first is due; None if none waits."""
        return max(0.0, self._waiting[0][0] - self._clock()) if self._waiting else None

    def add(self, candidates: Iterable[Candidate]) -> None:
        """Queue candidates for one grace period."""
        due = self._clock() + self.grace
        self._waiting.extend((due, candidate) for candidate in candidates)

    def take(self) -> Candidate | None:
        """Take the first candidate that is due; None if none is."""
        if self.rest != 0:
            return None
        self._taken.append(self._waiting.popleft()[1])
        return self._taken[-1]

    def drop(self, candidate: Candidate) -> None:
        """Remove a taken candidate."""
        self._taken.remove(candidate)

    def put_back(self, candidate: Candidate) -> None:
        """Return a taken candidate to the front of the queue."""
        self.drop(candidate)
        self._waiting.appendleft((self._clock(), candidate))

    @property
    def _all(self) -> list[Candidate]:
        return [*self._taken, *(candidate for _, candidate in self._waiting)]

    def to_json(self) -> list[dict[str, Any]]:
        return [candidate.to_json() for candidate in self._all]
