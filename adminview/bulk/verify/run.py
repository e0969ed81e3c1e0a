"""One verification: how far it is, what it found, and what still waits. Shared by its threads.

Everything moves under one lock, so that what is written down is a moment that has been: a page
counts if and only if its segment has moved past it and its suspects wait.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from threading import RLock
from time import monotonic
from typing import Any

from adminview.bulk.verify.candidates import ROOM, Candidate, Candidates
from adminview.bulk.verify.differences import Difference, Kind
from adminview.bulk.verify.scope import Scope, ScopeSegment, VerifyPhase
from adminview.model.row import Attributes, RowKey

KEPT = 1000  # differences that are listed; more are only counted
A_MOMENT = 0.05  # seconds, while the last pages are under way elsewhere
REPAIRED = "repaired"


@dataclass(slots=True)
class PageComparison:
    """What a page shows at first sight, by source."""

    scanned: int = 0
    counts: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    candidates: list[Candidate] = field(default_factory=list)
    failures: list[Difference] = field(default_factory=list)  # that no second look can change


class Run:
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
        self._kept: dict[Difference, str] = {}  # and what became of each
        self._rows: set[RowKey] = set()  # of those
        self._suspects = Candidates(grace, room, clock)
        self._repairing: list[list[Difference]] = []
        self._lock = RLock()

    def take_segment(self, stage: VerifyPhase) -> tuple[ScopeSegment, Attributes | None] | None:
        """Take a segment that nobody reads, and where its next page begins."""
        with self._lock:
            if self._suspects.full:
                return None
            for segment, start in self._open.items():
                if segment.stage is stage and segment not in self._busy:
                    self._busy.add(segment)
                    return segment, start
            return None

    def leave(self, segment: ScopeSegment) -> None:
        """Let others read a segment on."""
        with self._lock:
            self._busy.discard(segment)

    def turn_page(
        self, segment: ScopeSegment, last: Attributes | None, glance: PageComparison
    ) -> None:
        """Count a page, and move past it."""
        with self._lock:
            self.scanned += glance.scanned
            for source, counts in glance.counts.items():
                self._counts[source].update(counts)
            self._suspects.add(glance.candidates)
            self.repair_row({one: one.what for one in self.report(glance.failures)})
            if last:
                self._open[segment] = last
            else:
                del self._open[segment]

    def take_suspect(self) -> Candidate | None:
        """Take a suspect whose grace is over."""
        with self._lock:
            return self._suspects.take()

    def put_back(self, candidate: Candidate) -> None:
        """Return a suspect that could not be looked at."""
        with self._lock:
            self._suspects.put_back(candidate)

    def clear(self, candidate: Candidate) -> None:
        """Count a suspect as a change that was in flight."""
        with self._lock:
            self._suspects.drop(candidate)
            self._counts[candidate.source]["in_flight"] += candidate.weight

    def defer(self, candidate: Candidate, digest: str) -> None:
        """Let a suspect whose item moved wait again."""
        with self._lock:
            self._suspects.drop(candidate)
            self._suspects.add([replace(candidate, digest=digest, looks=candidate.looks + 1)])

    def confirm(self, candidate: Candidate, differences: Iterable[Difference]) -> list[Difference]:
        """Count a suspect's differences, and return those that are new."""
        with self._lock:
            self._suspects.drop(candidate)
            self._counts[candidate.source]["differing"] += candidate.weight
            new = self.report(differences)
            if new and self.scope.repair:
                self._repairing.append(new)  # the intent: known before anything is written
            else:
                self.repair_row(dict.fromkeys(new, "left"))
            return new

    def report(self, differences: Iterable[Difference]) -> list[Difference]:
        """Count differences that are new, and keep them while there is room."""
        new = [one for one in differences if not self._known(one)]
        for one in new:
            self._counts[one.source][one.kind.value] += 1
            if len(self._kept) < KEPT:
                self._kept[one] = ""
                if one.row:
                    self._rows.add(one.row)
        return new

    def repair_row(self, outcomes: Mapping[Difference, str]) -> None:
        """Write down what became of differences: repaired, or why not."""
        with self._lock:
            for one, outcome in outcomes.items():
                self._counts[one.source]["repaired" if outcome == REPAIRED else "left"] += 1
                if one in self._kept:
                    self._kept[one] = outcome
            self._repairing = [some for some in self._repairing if some[0] not in outcomes]

    def rest(self, stage: VerifyPhase) -> float | None:
        """Seconds until there may be something to do; None if the stage is over."""
        with self._lock:
            if (rest := self._suspects.rest) is not None:
                return rest
            under_way = len(self._suspects) or any(one.stage is stage for one in self._open)
            return A_MOMENT if under_way else None

    @property
    def waiting(self) -> int:
        """Count the items and rows that are to be looked at again."""
        with self._lock:
            return self._suspects.weight

    @property
    def repairing(self) -> list[list[Difference]]:
        """The repairs that were begun and not ended, each of one item."""
        with self._lock:
            return list(self._repairing)

    @property
    def finished(self) -> bool:
        """Tell whether everything has been looked at."""
        with self._lock:
            return not self._open and not len(self._suspects) and not self._repairing

    @property
    def counts(self) -> dict[str, Counter[str]]:
        """The counts of each source."""
        with self._lock:
            return {source: Counter(counts) for source, counts in self._counts.items()}

    @property
    def total(self) -> Counter[str]:
        """The counts of all sources together."""
        return sum(self.counts.values(), Counter())

    @property
    def differences(self) -> dict[Difference, str]:
        """The differences that are listed, and what became of each."""
        with self._lock:
            return dict(self._kept)

    def to_json(self) -> dict[str, Any]:
        """Write this moment as plain data."""
        with self._lock:
            return {
                "scope": self.scope.to_json(),
                "scanned": self.scanned,
                "open": [
                    [one.stage, one.source, one.number, one.total, start]
                    for one, start in self._open.items()
                ],
                "counts": {source: dict(counts) for source, counts in self._counts.items()},
                "kept": [[one.to_json(), outcome] for one, outcome in self._kept.items()],
                "suspects": self._suspects.to_json(),
                "repairing": [[one.to_json() for one in some] for some in self._repairing],
            }

    def restore(self, given: Mapping[str, Any]) -> None:
        """Go back to a moment that was written down."""
        with self._lock:
            self.scanned = given["scanned"]
            self._open = {
                ScopeSegment(VerifyPhase(stage), source, number, total): start
                for stage, source, number, total, start in given["open"]
            }
            for source, counts in given["counts"].items():
                self._counts[source].update(counts)
            self._kept = {Difference.from_json(one): outcome for one, outcome in given["kept"]}
            self._rows = {one.row for one in self._kept if one.row}
            self._suspects.add(Candidate.from_json(one) for one in given["suspects"])
            self._repairing = [
                [Difference.from_json(one) for one in some] for some in given["repairing"]
            ]

    def _known(self, difference: Difference) -> bool:
        """Tell whether a difference was reported before, from its other side perhaps.

        A row that another item should have is its owner's orphan too: that is one difference.
        """
        if difference.kind is Kind.ORPHANED:
            return difference.row in self._rows
        return difference in self._kept
