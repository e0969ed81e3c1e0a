"""The status of each source and of the deployment, and the progress of bulk work.

A value that cannot be measured is null, with the reason. It is never shown as zero.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from adminview.http_api.operations.moments import moment
from adminview.http_api.operations.router import Operation, OperationGroup, Reply, Request
from adminview.http_api.operations.schemas import STATUS

SECONDS, COUNT = "seconds", "count"
HEALTHY, ATTENTION, PROBLEM, UNKNOWN, QUIET = "healthy", "attention", "problem", "unknown", "quiet"
LONGEST_LAG: Final = 15 * 60.0  # seconds; as the alarm on lag allows


@dataclass(frozen=True, slots=True)
class Measure:
    """A measured value, or the reason why it is unknown."""

    value: float | None
    unit: str = COUNT
    at: float | None = None  # when it was measured, in seconds since 1970
    reason: str | None = None

    @classmethod
    def unknown(cls, reason: str, unit: str = COUNT) -> "Measure":
        return cls(None, unit, reason=reason)

    def as_dict(self) -> dict[str, Any]:
        whole = self.value is not None and self.unit == COUNT
        return {
            "value": int(self.value or 0) if whole else self.value,
            "unit": self.unit,
            "at": moment(self.at),
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStatus:
    """What is known of one source."""

    name: str
    table: str
    lag: Measure
    records: Measure
    writes: Measure
    dead_letters: Measure
    drift: Measure
    checked: Measure
    verified_at: float | None = None
    verification_complete: bool | None = None
    verification_share: float | None = None  # of the items and rows that it compared
    verification_reason: str | None = None  # why it is unknown
    polled: bool = False  # Lambda reads its stream, so without records there are no changes

    @property
    def problems(self) -> list[str]:
        """What an operator should look at."""
        problems = []
        if self.lag.value is not None and self.lag.value > LONGEST_LAG:
            problems.append(f"{self.name} is {self.lag.value:.0f} seconds behind")
        if self.drift.value:
            problems.append(f"{self.name} has drift: {self.drift.value:.0f} rows differ")
        return problems

    @property
    def state(self) -> str:
        if self.problems:
            return PROBLEM
        if self.dead_letters.value or self.verification_complete is False:
            return ATTENTION
        if self.records.value == 0 or (self.records.value is None and self.polled):
            return QUIET
        # Without a lag nobody knows whether the sync runs at all.
        return UNKNOWN if self.lag.value is None else HEALTHY

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "table": self.table,
            "state": self.state,
            "lag": self.lag.as_dict(),
            "records": self.records.as_dict(),
            "writes": self.writes.as_dict(),
            "deadLetters": self.dead_letters.as_dict(),
            "drift": self.drift.as_dict(),
            "verified": {
                "at": moment(self.verified_at),
                "complete": self.verification_complete,
                "share": self.verification_share,
                "checked": self.checked.as_dict(),
                "reason": self.verification_reason,
            },
        }


@dataclass(frozen=True, slots=True)
class RingingAlarm:
    name: str
    since: float | None
    description: str


@dataclass(frozen=True, slots=True)
class AlarmSummary:
    """The alarms of a deployment, or the reason why they are unknown."""

    ringing: Sequence[RingingAlarm] = ()
    ok: int | None = None
    no_data: int | None = None
    reason: str | None = None
    polled: frozenset[str] = frozenset()  # sources whose streams Lambda reads

    def as_dict(self) -> dict[str, Any]:
        return {
            "known": self.reason is None,
            "reason": self.reason,
            "ringing": [
                {
                    "name": alarm.name,
                    "since": moment(alarm.since),
                    "description": alarm.description,
                }
                for alarm in self.ringing
            ],
            "ok": self.ok,
            "noData": self.no_data,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusFacts:
    """What is known of a deployment."""

    at: float
    local_model: str
    deployed_model: str | None
    sources: Sequence[SourceStatus]
    alarms: AlarmSummary
    window: str | None = None  # of records and writes
    dead_letters: Mapping[str, int] | None = None  # as the queue counts them
    pending: Mapping[str, str | None] = field(default_factory=dict)
    problems: Sequence[str] = ()

    def as_dict(self) -> dict[str, Any]:
        problems = [
            *self.problems,
            *(f"alarm {alarm.name} rings" for alarm in self.alarms.ringing),
            *(problem for source in self.sources for problem in source.problems),
        ]
        known = self.deployed_model is not None
        return {
            "at": moment(self.at),
            "model": {
                "local": self.local_model,
                "deployed": self.deployed_model,
                "same": self.local_model == self.deployed_model if known else None,
            },
            "state": self._state(problems),
            "problems": problems,
            "sources": [source.as_dict() for source in self.sources],
            "window": self.window,
            "deadLetters": None if self.dead_letters is None else dict(self.dead_letters),
            "alarms": self.alarms.as_dict(),
            "pending": [
                {"pattern": name, "servedBy": index} for name, index in sorted(self.pending.items())
            ],
        }

    def _state(self, problems: Sequence[str]) -> str:
        states = {source.state for source in self.sources}
        if problems:
            return PROBLEM
        if ATTENTION in states or any((self.dead_letters or {}).values()) or self.pending:
            return ATTENTION
        return UNKNOWN if not states or UNKNOWN in states else HEALTHY


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """A run of bulk work that has not ended."""

    run: str
    done: int
    of: int
    counts: Mapping[str, int]
    running: bool  # a worker holds a lease
    model: str
    lease_until: float | None = None

    def as_dict(self) -> dict[str, Any]:
        kind, _, subject = self.run.partition("/")
        return {
            "run": self.run,
            "kind": kind,
            "subject": subject,
            "segmentsDone": self.done,
            "segments": self.of,
            "counts": dict(self.counts),
            "state": "running" if self.running else "waiting",
            "model": self.model,
            "leaseUntil": moment(self.lease_until),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedRun:
    """A run of bulk work that has ended."""

    run: str
    at: float | None
    model: str | None
    counts: Mapping[str, int]
    current: bool  # the rows are still as it left them

    def as_dict(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "at": moment(self.at),
            "model": self.model,
            "counts": dict(self.counts),
            "current": self.current,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyProgress:
    """The last `adminview apply`."""

    state: str
    model: str
    done: Sequence[str]
    remaining: Sequence[str]  # the first one is in progress, or was when it ended
    started: float
    at: float

    def as_dict(self) -> dict[str, Any]:
        states = [self.state, *["waiting"] * len(self.remaining)]
        return {
            "state": self.state,
            "model": self.model,
            "startedAt": moment(self.started),
            "at": moment(self.at),
            "steps": [
                *({"title": title, "state": "done"} for title in self.done),
                *(
                    {"title": title, "state": state}
                    for title, state in zip(self.remaining, states, strict=False)
                ),
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressFacts:
    """Bulk work in progress and completed, and what a plan still has to do."""

    runs: Sequence[RunProgress] = ()
    completed: Sequence[CompletedRun] = ()
    unbuilt: Sequence[str] = ()  # sources that must be backfilled
    stale: Sequence[str] = ()  # sources that must be swept
    pending: Sequence[str] = ()  # access patterns that are not ready
    apply: ApplyProgress | None = None  # the last one that was recorded
    reason: str | None = None  # why nothing is known

    def as_dict(self) -> dict[str, Any]:
        return {
            "runs": [run.as_dict() for run in self.runs],
            "completed": [run.as_dict() for run in self.completed],
            "plan": {
                "unbuilt": list(self.unbuilt),
                "stale": list(self.stale),
                "pending": list(self.pending),
                "apply": None if self.apply is None else self.apply.as_dict(),
            },
            "known": self.reason is None,
            "reason": self.reason,
        }


class StatusReader(Protocol):
    """Reads the status of a local engine or of a deployment."""

    def status(self) -> StatusFacts: ...

    def progress(self) -> ProgressFacts: ...


def status_group(reader: StatusReader) -> OperationGroup:
    """Return the operations on the status that *reader* reads."""

    def reading(read: Callable[[], StatusFacts | ProgressFacts]) -> Callable[[Request], Reply]:
        def handle(request: Request) -> Reply:
            request.parameters()
            return Reply(read().as_dict())

        return handle

    operations = [
        Operation(
            method="GET",
            path="/status",
            id="getStatus",
            summary="Lag, records, writes, dead letters, drift and verification of each source",
            handle=reading(reader.status),
            response="Status",
        ),
        Operation(
            method="GET",
            path="/progress",
            id="getProgress",
            summary="Backfills, sweeps, migrations and verifications, and what a plan must do",
            handle=reading(reader.progress),
            response="Progress",
        ),
    ]
    return OperationGroup("status", operations, STATUS)
