"""The state of one verification, shared by its threads, with the candidates for a recheck.

One lock guards all changes, so a saved state is consistent: a page is counted if and only if its
segment has moved past it and its candidates are queued.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from threading import RLock
from time import monotonic
from typing import Any

from adminview.bulk.verify.differences import Difference, Kind
from adminview.bulk.verify.scope import Scope, ScopeSegment, VerifyPhase
from adminview.model.row import Attributes, RowKey

KEPT = 1000  # differences that are listed; further ones are only counted
A_MOMENT = 0.05  # seconds, while other threads finish the last pages
REPAIRED = "repaired"


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
    """A queue in which each candidate waits for its grace period.

    Not thread-safe: `VerifyRun` locks it.
    """

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
    def wait_seconds(self) -> float | None:
        """Return the seconds until the first is due; None if none waits."""
        return max(0.0, self._waiting[0][0] - self._clock()) if self._waiting else None

    def add(self, candidates: Iterable[Candidate]) -> None:
        """Queue candidates for one grace period."""
        due = self._clock() + self.grace
        self._waiting.extend((due, candidate) for candidate in candidates)

    def take(self) -> Candidate | None:
        """Take the first candidate that is due; None if none is."""
        if self.wait_seconds != 0:
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


@dataclass(slots=True)
class PageComparison:
    """The result of comparing a page, by source."""

    scanned: int = 0
    counts: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    candidates: list[Candidate] = field(default_factory=list)
    failures: list[Difference] = field(default_factory=list)  # final without a recheck


class VerifyRun:
    """The state of a verification. Its counts add up.

    items + rows = equal + in_flight + differing, and the kinds of difference = repaired + left.
    """

    def __init__(
        self,
        scope: Scope,
        segments: Iterable[ScopeSegment],
        *,
        grace: float = 15.0,
        room: int = ROOM,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.scope = scope
        self.scanned = 0
        self._open: dict[ScopeSegment, Attributes | None] = dict.fromkeys(segments)
        self._busy: set[ScopeSegment] = set()
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._kept: dict[Difference, str] = {}  # with the outcome of each
        self._rows: set[RowKey] = set()  # of the listed differences
        self._candidates = Candidates(grace, room, clock)
        self._repairing: list[list[Difference]] = []
        self._lock = RLock()

    def take_segment(self, stage: VerifyPhase) -> tuple[ScopeSegment, Attributes | None] | None:
        """Take a free segment and the start of its next page; None if there is none."""
        with self._lock:
            if self._candidates.full:
                return None
            for segment, start in self._open.items():
                if segment.stage is stage and segment not in self._busy:
                    self._busy.add(segment)
                    return segment, start
            return None

    def leave(self, segment: ScopeSegment) -> None:
        with self._lock:
            self._busy.discard(segment)

    def turn_page(
        self, segment: ScopeSegment, last: Attributes | None, comparison: PageComparison
    ) -> None:
        """Count a page and move its segment past it."""
        with self._lock:
            self.scanned += comparison.scanned
            for source, counts in comparison.counts.items():
                self._counts[source].update(counts)
            self._candidates.add(comparison.candidates)
            self.record_outcomes(
                {failure: failure.what for failure in self.report(comparison.failures)}
            )
            if last:
                self._open[segment] = last
            else:
                del self._open[segment]

    def take_candidate(self) -> Candidate | None:
        """Take a candidate whose grace period is over; None if there is none."""
        with self._lock:
            return self._candidates.take()

    def put_back(self, candidate: Candidate) -> None:
        """Return a candidate that could not be rechecked."""
        with self._lock:
            self._candidates.put_back(candidate)

    def clear(self, candidate: Candidate) -> None:
        """Count a candidate as a change that was in flight."""
        with self._lock:
            self._candidates.drop(candidate)
            self._counts[candidate.source]["in_flight"] += candidate.weight

    def defer(self, candidate: Candidate, digest: str) -> None:
        """Queue a candidate again because its item changed."""
        with self._lock:
            self._candidates.drop(candidate)
            self._candidates.add([replace(candidate, digest=digest, looks=candidate.looks + 1)])

    def confirm(self, candidate: Candidate, differences: Iterable[Difference]) -> list[Difference]:
        """Count the differences of a candidate, and return the new ones."""
        with self._lock:
            self._candidates.drop(candidate)
            self._counts[candidate.source]["differing"] += candidate.weight
            new = self.report(differences)
            if new and self.scope.repair:
                self._repairing.append(new)  # the intent, saved before anything is written
            else:
                self.record_outcomes(dict.fromkeys(new, "left"))
            return new

    def report(self, differences: Iterable[Difference]) -> list[Difference]:
        """Count and return the new differences; list them while there is room."""
        new = [difference for difference in differences if not self._known(difference)]
        for difference in new:
            self._counts[difference.source][difference.kind.value] += 1
            if len(self._kept) < KEPT:
                self._kept[difference] = ""
                if difference.row:
                    self._rows.add(difference.row)
        return new

    def record_outcomes(self, outcomes: Mapping[Difference, str]) -> None:
        """Count the outcomes of differences: repaired, or the reason why not."""
        with self._lock:
            for difference, outcome in outcomes.items():
                self._counts[difference.source]["repaired" if outcome == REPAIRED else "left"] += 1
                if difference in self._kept:
                    self._kept[difference] = outcome
            self._repairing = [group for group in self._repairing if group[0] not in outcomes]

    def wait_seconds(self, stage: VerifyPhase) -> float | None:
        """Return the seconds until there may be work; None if the phase is over."""
        with self._lock:
            if (seconds := self._candidates.wait_seconds) is not None:
                return seconds
            under_way = len(self._candidates) or any(
                segment.stage is stage for segment in self._open
            )
            return A_MOMENT if under_way else None

    @property
    def waiting(self) -> int:
        """Return how many scanned items and rows wait for a recheck."""
        with self._lock:
            return self._candidates.weight

    @property
    def repairing(self) -> list[list[Difference]]:
        """The repairs in progress, each of one item."""
        with self._lock:
            return list(self._repairing)

    @property
    def finished(self) -> bool:
        """Return whether everything has been compared, rechecked and repaired."""
        with self._lock:
            return not self._open and not len(self._candidates) and not self._repairing

    @property
    def counts(self) -> dict[str, Counter[str]]:
        with self._lock:
            return {source: Counter(counts) for source, counts in self._counts.items()}

    @property
    def total(self) -> Counter[str]:
        return sum(self.counts.values(), Counter())

    @property
    def differences(self) -> dict[Difference, str]:
        """The listed differences with their outcomes."""
        with self._lock:
            return dict(self._kept)

    def to_json(self) -> dict[str, Any]:
        with self._lock:
            return {
                "scope": self.scope.to_json(),
                "scanned": self.scanned,
                "open": [
                    [segment.stage, segment.source, segment.number, segment.total, start]
                    for segment, start in self._open.items()
                ],
                "counts": {source: dict(counts) for source, counts in self._counts.items()},
                "kept": [
                    [difference.to_json(), outcome] for difference, outcome in self._kept.items()
                ],
                "candidates": self._candidates.to_json(),
                "repairing": [
                    [difference.to_json() for difference in group] for group in self._repairing
                ],
            }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Restore a state that `to_json` returned."""
        with self._lock:
            self.scanned = data["scanned"]
            self._open = {
                ScopeSegment(VerifyPhase(stage), source, number, total): start
                for stage, source, number, total, start in data["open"]
            }
            for source, counts in data["counts"].items():
                self._counts[source].update(counts)
            self._kept = {
                Difference.from_json(difference): outcome for difference, outcome in data["kept"]
            }
            self._rows = {difference.row for difference in self._kept if difference.row}
            self._candidates.add(map(Candidate.from_json, data["candidates"]))
            self._repairing = [[*map(Difference.from_json, group)] for group in data["repairing"]]

    def _known(self, difference: Difference) -> bool:
        """Return whether a difference was already reported, perhaps for its other owner.

        A row that another item should have is also an orphan of its owner: one difference.
        """
        if difference.kind is Kind.ORPHANED:
            return difference.row in self._rows
        return difference in self._kept
