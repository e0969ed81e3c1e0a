"""Execute a bulk run locally, several segments at a time. It can be stopped and resumed."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from threading import Event, Lock
from typing import Any

from botocore.config import Config

from adminview.aws.boto3_clients import CLIENT, dynamodb_client
from adminview.aws.clients import Clients
from adminview.aws.concurrency import MAX_CONCURRENCY
from adminview.aws.deadline import Deadline
from adminview.aws.endpoints import ENDPOINT
from adminview.aws.error_hints import describe_error
from adminview.aws.metered_client import Metered
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.settings import Settings
from adminview.bulk.runs import Bulk, make_bulk
from adminview.bulk.segment import Segment, SegmentState
from adminview.bulk.verify.scope import Scope
from adminview.bulk.worker import SegmentWorker
from adminview.cli.private_files import LETTERS, LetterFile
from adminview.cli.shutdown import Shutdown
from adminview.local.tables import create, progress_table
from adminview.model import Registry
from adminview.model.errors import BulkError, SegmentTakenError, ServiceError, SettingsError
from adminview.views import migrations

MOST_THREADS = MAX_CONCURRENCY
PATIENCE_SECONDS = 60.0
STOPPED = "stopped"
OVERTAKEN = "other code was deployed, or the run was restarted, meanwhile: this work does not count"
NAP_SECONDS = 1.0  # while another process holds a segment: short, to notice a stop soon
LONG_NAP_SECONDS = 5.0  # before a run: longer, because each attempt reads the deployed model

Watch = Callable[[Counter[str]], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """Budgets of a run, in units per second."""

    max_rcu: float | None = None
    max_wcu: float | None = None


@dataclass(frozen=True, slots=True)
class RunOptions:
    segments: int | None = None
    tolerate: int = 100
    restart: bool = False
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class SegmentOutcome:
    """The counts of a run, finished or not."""

    run: str
    counts: Counter[str]
    trouble: str = ""  # why it is not finished

    @property
    def finished(self) -> bool:
        return not self.trouble


@dataclass(slots=True)
class SegmentPool:
    """Threads that work on the segments of one run."""

    bulk: Bulk
    run: str
    stop: Shutdown
    tolerated: int
    watch: Watch = lambda _: None
    notify: Callable[[str], None] = lambda _: None
    worker: SegmentWorker | None = None
    _counts: dict[int, Counter[str]] = field(default_factory=dict)
    _wait_reported: bool = False
    _lock: Any = field(default_factory=Lock)

    def work(
        self, of: int | None = None, *, restart: bool = False, scope: Scope | None = None
    ) -> SegmentOutcome:
        """Start or resume a run, and return when it is done, stopped or has failed."""
        try:
            self._work(self._begin(of, scope, restart=restart))
            counts = self.bulk.finish(self.run, deadline=_soon(), tolerated=self.tolerated)
        except (ServiceError, BulkError) as error:
            trouble = STOPPED if self.stop.event.is_set() else describe_error(error)
            return SegmentOutcome(self.run, self.counts, trouble)
        if counts is None and self.stop.event.is_set():
            return SegmentOutcome(self.run, self.counts, STOPPED)
        if counts is None and not self._finished_elsewhere():
            return SegmentOutcome(self.run, self.counts, OVERTAKEN)
        return SegmentOutcome(self.run, self.counts if counts is None else counts)

    def _finished_elsewhere(self) -> bool:
        """Return whether another process has marked the run as complete for this model."""
        mark = self.bulk.built(deadline=_soon()).get(self.run, {})
        return mark.get("model") == self.bulk.model_of(self.run)

    @property
    def counts(self) -> Counter[str]:
        with self._lock:
            return sum(self._counts.values(), Counter[str]())

    def _begin(self, of: int | None, scope: Scope | None, *, restart: bool) -> list[Segment]:
        """Return the segments, once no other process holds one that must be recovered first.

        Raises a SettingsError if other code was deployed meanwhile.
        """
        while not self.stop.event.is_set():
            try:
                segments = self.bulk.begin(
                    self.run,
                    of,
                    deadline=_soon(),
                    restart=restart,
                    tolerated=self.tolerated,
                    scope=scope,
                )
            except SegmentTakenError as error:
                self._wait(error, LONG_NAP_SECONDS)
            else:
                self._add_counts(*self.bulk.progress.records(self.run, deadline=_soon()))
                return segments
        return []

    def _work(self, segments: Sequence[Segment]) -> None:
        waiting: SimpleQueue[Segment] = SimpleQueue()
        for segment in segments:
            waiting.put(segment)
        halt = Event()
        threads = min(MOST_THREADS, max(1, len(segments)))
        with ThreadPoolExecutor(threads) as pool:
            futures = [pool.submit(self._work_queue, waiting, halt) for _ in range(threads)]
        for future in futures:
            future.result()

    def _work_queue(self, waiting: "SimpleQueue[Segment]", halt: Event) -> None:
        """Work on segments until none is left. A failure halts all threads."""
        worker = replace(
            self.worker or self.bulk.worker(self.run),
            tolerated=self.tolerated,
            stopped=lambda: halt.is_set() or self.stop.event.is_set(),
            watch=self._add_counts,
            total=lambda _: self.counts,
            sleep=self.stop.sleep,
        )
        try:
            while not worker.stopped():
                segment = waiting.get_nowait()
                try:
                    self._add_counts(worker.work(segment, end=self.stop.end))
                except SegmentTakenError as error:
                    waiting.put(segment)  # try another one first
                    self._wait(error)
        except Empty:
            return
        except BaseException:
            halt.set()  # other threads stop at their next page
            raise

    def _wait(self, error: SegmentTakenError, longest: float = NAP_SECONDS) -> None:
        """Wait for a segment whose lease another process holds. Report it once."""
        with self._lock:
            reported, self._wait_reported = self._wait_reported, True
        if not reported:
            self.notify(f"waiting: {error}")
        self.stop.sleep(min(error.seconds, longest))

    def _add_counts(self, *records: SegmentState) -> None:
        with self._lock:
            self._counts |= {record.segment.number: record.counts for record in records}
        self.watch(self.counts)


def _soon() -> Deadline:
    return Deadline.after(PATIENCE_SECONDS)


def connect(
    model: Registry,
    settings: Settings,
    limits: Limits,
    check: Callable[[], object] = lambda: None,
) -> Bulk:
    """Connect to the tables of *settings* within *limits*. *check* raises if they have changed."""
    pool = Config(max_pool_connections=MOST_THREADS * MAX_CONCURRENCY)
    clients = Clients(dynamodb_client(CLIENT.merge(pool)))
    metered = Metered(clients.dynamodb, RateLimiter(limits.max_rcu), RateLimiter(limits.max_wcu))
    bulk = replace(make_bulk(model, settings, clients, metered, migrations()), check=check)
    _check_progress(clients, bulk.progress.name)
    if not settings.dead_letter_queue_url:
        return replace(bulk, post=LetterFile(LETTERS))
    return bulk


def _check_progress(clients: Clients, name: str) -> None:
    """Raise a SettingsError if there is no progress table; create it on a local engine."""
    dynamodb = clients.dynamodb
    try:
        dynamodb.describe_table(TableName=name)
    except dynamodb.exceptions.ResourceNotFoundException as error:
        if not os.environ.get(ENDPOINT):
            msg = f"there is no table {name!r}: deploy this version of AdminView first"
            raise SettingsError(msg) from error
        create(dynamodb, progress_table(name))
