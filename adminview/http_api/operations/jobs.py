"""Repairs that take longer than a request: started, polled and stopped."""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from secrets import token_hex
from threading import Event, Lock, Thread
from time import monotonic, time
from typing import Any, Final

from adminview.http_api.operations.letters import short
from adminview.http_api.operations.moments import moment
from adminview.http_api.problems import ProblemError
from adminview.model.errors import AdminViewError, ServiceError, kind_of

MOST_JOBS: Final = 50  # that are remembered
MOST_LETTERS: Final = 100  # outcomes per job
MOST_REASONS: Final = 50
RUNNING, STOPPING, DONE, STOPPED, FAILED = "running", "stopping", "done", "stopped", "failed"
ACTIVE: Final = (RUNNING, STOPPING)


@dataclass(slots=True, kw_only=True)
class RepairJob:
    """A replay or a discard, and what it has done so far."""

    action: str
    reason: str
    select: dict[str, Any]  # as it was requested
    per_second: int
    id: str = field(default_factory=lambda: token_hex(8))
    started: float = field(default_factory=time)
    ended: float | None = None
    total: int | None = None  # dead letters that match; None if it is not known
    problem: str | None = None
    rows_put: int | None = None
    rows_deleted: int | None = None
    stop: Event = field(default_factory=Event)
    handled: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    letters: deque[dict[str, str]] = field(default_factory=lambda: deque(maxlen=MOST_LETTERS))
    _began: float = field(default_factory=monotonic)
    _lock: Lock = field(default_factory=Lock)

    @property
    def state(self) -> str:
        if self.ended is None:
            return STOPPING if self.stop.is_set() else RUNNING
        if self.problem:
            return FAILED
        return STOPPED if self.stop.is_set() else DONE

    def report(self, id_: str, outcome: str, reason: str = "") -> None:
        """Record the outcome of a dead letter."""
        with self._lock:
            self.handled += 1
            self.outcomes[outcome] += 1
            if reason and (reason in self.reasons or len(self.reasons) < MOST_REASONS):
                self.reasons[short(reason)] += 1
            self.letters.append({"id": id_, "outcome": outcome, "reason": short(reason)})

    def pace(self) -> None:
        """Wait until the rate allows more dead letters, or until a stop is requested."""
        due = self._began + self.handled / self.per_second
        if (left := due - monotonic()) > 0:
            self.stop.wait(left)

    def as_dict(self) -> dict[str, Any]:
        with self._lock:
            return {
                "id": self.id,
                "action": self.action,
                "reason": self.reason,
                "select": self.select,
                "perSecond": self.per_second,
                "state": self.state,
                "startedAt": moment(self.started),
                "endedAt": moment(self.ended),
                "total": self.total,
                "handled": self.handled,
                "outcomes": dict(self.outcomes),
                "rowsPut": self.rows_put,
                "rowsDeleted": self.rows_deleted,
                "reasons": dict(self.reasons),
                "letters": list(self.letters),
                "problem": self.problem,
            }


@dataclass(slots=True)
class Jobs:
    """The jobs of this process; one runs at a time, so that its rate is the rate."""

    _jobs: dict[str, RepairJob] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _thread: Thread | None = None

    def start(self, job: RepairJob, work: Callable[[RepairJob], None]) -> RepairJob:
        """Run *work* in the background; raise a ProblemError (409) if another job is active."""
        with self._lock:
            for other in self._jobs.values():
                if other.state in ACTIVE:
                    detail = f"a {other.action} is running: wait for it, or stop it"
                    more = {"job": other.as_dict()}
                    raise ProblemError(HTTPStatus.CONFLICT, detail, more=more)
            self._jobs[job.id] = job
            while len(self._jobs) > MOST_JOBS:
                del self._jobs[next(iter(self._jobs))]
        self._thread = Thread(target=_run, args=(job, work), daemon=True)
        self._thread.start()
        return job

    def find(self, id_: str) -> RepairJob:
        """Return a job; raise a ProblemError (404) if there is none."""
        try:
            return self._jobs[id_]
        except KeyError as error:
            detail = "there is no such job: jobs end with the console; the audit file has them"
            raise ProblemError(HTTPStatus.NOT_FOUND, detail) from error

    def newest_first(self) -> list[RepairJob]:
        with self._lock:
            return [*reversed(self._jobs.values())]

    def end(self, seconds: float) -> None:
        """Stop the active job, and wait at most so long until it has handled its dead letter."""
        for job in self.newest_first():
            if job.state in ACTIVE:
                job.stop.set()
        if self._thread:
            self._thread.join(seconds)


def _run(job: RepairJob, work: Callable[[RepairJob], None]) -> None:
    try:
        work(job)
    except Exception as error:  # noqa: BLE001 - a job reports every error
        ours = isinstance(error, AdminViewError)
        hint = f" ({error.code})" if isinstance(error, ServiceError) else ""
        job.problem = short(str(error)) if ours else f"{kind_of(error)}{hint}"
    finally:
        job.ended = time()
