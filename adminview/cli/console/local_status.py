"""The status of a local engine: what its queue, its progress table and this process know."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from time import time
from typing import Any, Final

from adminview.aws.deadline import Deadline
from adminview.aws.settings import Settings
from adminview.bulk.completions import Completions
from adminview.bulk.runs import EVERYTHING, ROWS, SCOPE
from adminview.bulk.verify.verify import LEFT
from adminview.cli.console.progress import ProgressReader
from adminview.http_api.operations.dead_letters import DeadLetters
from adminview.http_api.operations.letters import queue_counts
from adminview.http_api.operations.status import (
    SECONDS,
    AlarmSummary,
    Measure,
    ProgressFacts,
    SourceStatus,
    StatusFacts,
)
from adminview.model import Registry
from adminview.model.errors import AdminViewError
from adminview.sync.counts import BatchCounts

TIMEOUT: Final = 10.0  # seconds
NO_METRICS: Final = "a local engine has no metrics; the console of `adminview dev` counts them"
NO_BATCH: Final = "nothing was synced since this console started"
NO_QUEUE: Final = "there is no dead-letter queue"
NO_VERIFICATION: Final = "no verification is recorded, run `adminview verify`"
NO_ALARMS: Final = "a local engine has no alarms"


@dataclass(slots=True)
class SyncCounts:
    """Counts what the sync of this process did, per source. Thread-safe."""

    now: Callable[[], float] = time
    since: float = field(init=False)
    _records: Counter[str] = field(default_factory=Counter)
    _writes: Counter[str] = field(default_factory=Counter)
    _lags: dict[str, tuple[float, float]] = field(default_factory=dict)  # seconds, when
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.since = self.now()

    def add(self, counts: BatchCounts) -> None:
        with self._lock:
            self._records[counts.source] += counts.records
            self._writes[counts.source] += counts.rows_put + counts.rows_deleted
            if counts.lag_seconds is not None:
                self._lags[counts.source] = counts.lag_seconds, self.now()

    def records(self, source: str) -> Measure:
        with self._lock:
            return Measure(self._records[source], at=self.now())

    def writes(self, source: str) -> Measure:
        with self._lock:
            return Measure(self._writes[source], at=self.now())

    def lag(self, source: str) -> Measure:
        with self._lock:
            if source not in self._lags:
                return Measure.unknown(NO_BATCH, SECONDS)
            lag, at = self._lags[source]
            return Measure(lag, SECONDS, at)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalStatus:
    """Reads the status of a local engine."""

    registry: Registry
    settings: Settings
    progress_reader: ProgressReader
    letters: DeadLetters | None
    pending: Mapping[str, str | None] = field(default_factory=dict)
    counts: SyncCounts | None = None  # if the sync runs in this process
    now: Callable[[], float] = time

    def progress(self) -> ProgressFacts:
        return self.progress_reader.read()

    def status(self) -> StatusFacts:
        problems: list[str] = []
        letters, waiting = None, None
        try:
            if self.letters:
                letters = self.letters.by_source()
                consumer = self.letters.replayer.consumer
                waiting = queue_counts(consumer.count(deadline=Deadline.after(TIMEOUT)))
        except AdminViewError as error:
            problems.append(f"the dead-letter queue cannot be read: {error}")
        verifications = self.progress_reader.verifications()
        return StatusFacts(
            at=self.now(),
            local_model=self.registry.fingerprint,
            deployed_model=self.settings.model,
            sources=[
                self._source(name, table, letters, verifications)
                for name, table in sorted(self.settings.sources.items())
            ],
            window="since this console started" if self.counts else None,
            dead_letters=waiting,
            alarms=AlarmSummary(reason=NO_ALARMS),
            pending=self.pending,
            problems=problems,
        )

    def _source(
        self,
        name: str,
        table: str,
        letters: Mapping[str, int] | None,
        verifications: Completions,
    ) -> SourceStatus:
        counts, now = self.counts, self.now()
        return SourceStatus(
            name=name,
            table=table,
            lag=counts.lag(name) if counts else Measure.unknown(NO_METRICS, SECONDS),
            records=counts.records(name) if counts else Measure.unknown(NO_METRICS),
            writes=counts.writes(name) if counts else Measure.unknown(NO_METRICS),
            dead_letters=Measure.unknown(NO_QUEUE)
            if letters is None
            else Measure(letters.get(name, 0), at=now),
            **verification_of(name, verifications),
        )


def verification_of(source: str, verifications: Completions) -> dict[str, Any]:
    """Return what the last recorded verification of a source found, as fields of its status.

    It is complete if its second phase has finished after the first.
    """
    times: list[tuple[float, str]] = []
    for run, facts in verifications.items():
        kind, _, subject = run.partition("/")
        if subject in (source, EVERYTHING) and not kind.endswith(ROWS):
            times.append((float(facts.get("at", 0.0)), run))
    if not times:
        unknown = Measure.unknown(NO_VERIFICATION)
        return {"drift": unknown, "checked": unknown, "verification_reason": NO_VERIFICATION}
    at, run = max(times)
    kind, _, subject = run.partition("/")
    second = verifications.get(f"{kind}{ROWS}/{subject}", {})
    complete = float(second.get("at", 0.0)) >= at
    counts = Counter[str](verifications[run].get("counts", {}))
    if complete:
        counts.update(second.get("counts", {}))
    return {
        "drift": Measure(counts[f"{source}/{LEFT}"], at=at),
        "checked": Measure(counts[f"{source}/items"], at=at),
        "verified_at": at,
        "verification_complete": complete,
        "verification_share": (verifications[run].get(SCOPE) or {}).get("sample"),
    }
