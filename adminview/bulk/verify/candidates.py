"""What differed at first sight, and waits to be looked at again."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from adminview.bulk.verify.scope import VerifyPhase
from adminview.model.row import RowKey

ROOM = 1000  # suspects; with more, scanning pauses


@dataclass(frozen=True, slots=True)
class Candidate:
    """An item, or rows of one, that may differ."""

    stage: VerifyPhase
    source: str
    owner: str  # empty for a row that names none
    rows: frozenset[RowKey]
    digest: str  # of the item when it was last looked at
    weight: int  # how many of the items and rows that were seen it stands for
    looks: int = 1

    def to_json(self) -> dict[str, Any]:
        """Write it as plain data."""
        return asdict(self) | {"stage": self.stage.value, "rows": sorted(map(list, self.rows))}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> "Candidate":
        """Read it back."""
        rows = frozenset((pk, sk) for pk, sk in given["rows"])
        return cls(**{**given, "stage": VerifyPhase(given["stage"]), "rows": rows})


class Candidates:
    """A queue in which each waits for its grace. Not for several threads: `Run` sees to that."""

    def __init__(self, grace: float, room: int, clock: Callable[[], float]) -> None:
        self.grace = grace
        self._room = room
        self._clock = clock
        self._waiting: deque[tuple[float, Candidate]] = deque()  # in the order of their time
        self._in_hand: list[Candidate] = []

    def __len__(self) -> int:
        return len(self._waiting) + len(self._in_hand)

    @property
    def weight(self) -> int:
        """Count the items and rows that they stand for."""
        waiting = [*self._in_hand, *(candidate for _, candidate in self._waiting)]
        return sum(candidate.weight for candidate in waiting)

    @property
    def full(self) -> bool:
        """Tell whether no more should be brought."""
        return len(self) >= self._room

    @property
    def rest(self) -> float | None:
        """Seconds until the first is due; None if none waits."""
        return max(0.0, self._waiting[0][0] - self._clock()) if self._waiting else None

    def add(self, candidates: Iterable[Candidate]) -> None:
        """Let suspects wait for a grace."""
        due = self._clock() + self.grace
        self._waiting.extend((due, candidate) for candidate in candidates)

    def take(self) -> Candidate | None:
        """Take the first that is due in hand."""
        if self.rest != 0:
            return None
        self._in_hand.append(self._waiting.popleft()[1])
        return self._in_hand[-1]

    def drop(self, candidate: Candidate) -> None:
        """Be done with one that was in hand."""
        self._in_hand.remove(candidate)

    def put_back(self, candidate: Candidate) -> None:
        """Let one that could not be looked at be the next again."""
        self.drop(candidate)
        self._waiting.appendleft((self._clock(), candidate))

    def to_json(self) -> list[dict[str, Any]]:
        """Write all as plain data."""
        return [
            candidate.to_json()
            for candidate in (*self._in_hand, *(one for _, one in self._waiting))
        ]
