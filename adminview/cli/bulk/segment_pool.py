"""Bulk work from this machine: all segments of a run, some at once; a stop is no loss."""

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
from adminview.aws.metered_client import Metered
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.settings import Settings
from adminview.bulk.runs import Bulk, make_bulk
from adminview.bulk.segment import Segment, SegmentState
from adminview.bulk.worker import Worker
from adminview.cli.dead_letters.post import LETTERS, LetterFile
from adminview.cli.errors import explained
from adminview.cli.shutdown import Shutdown
from adminview.local.settings import ENDPOINT
from adminview.local.tables import create, progress_table
from adminview.model import Registry
from adminview.model.errors import BulkError, SegmentTakenError, ServiceError, SettingsError
from adminview.views import migrations

MOST_THREADS = MAX_CONCURRENCY
PATIENCE_SECONDS = 60.0
STOPPED = "stopped"
OVERTAKEN = (
    "other code was deployed, or it was begun again, meanwhile: what was done does not count"
)
NAP_SECONDS = 1.0  # while a segment is in other hands: so that a stop is soon noticed
LONG_NAP_SECONDS = 5.0  # before a run: after each, the deployment is asked for its model

Watch = Callable[[Counter[str]], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may take, in units per second."""

    max_rcu: float | None = None
    max_wcu: float | None = None


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run is to be gone through."""

    segments: int | None = None
    tolerate: int = 100
    restart: bool = False
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class SegmentOutcome:
    """What a run came to, as far as it came."""

    run: str
    counts: Counter[str]
    trouble: str = ""  # why it has not ended

    @property
    def finished(self) -> bool:
        """Tell whether every segment is done."""
        return not self.trouble


@dataclass(slots=True)
class SegmentPool:
    """Threads that work on the segments of one run."""

    bulk: Bulk
    run: str
    stop: Shutdown
    tolerated: int
    watch: Watch = lambda _: None
    say: Callable[[str], None] = lambda _: None
    worker: Worker | None = None
    _counts: dict[int, Counter[str]] = field(default_factory=dict)
    _told: bool = False  # that somebody else has a segment
    _lock: Any = field(default_factory=Lock)

    def work(self, of: int | None = None, *, restart: bool = False) -> SegmentOutcome:
        """Begin or go on with a run, until it is done, stopped or in trouble."""
        try:
            self._work(self._begin(of, restart=restart))
            counts = self.bulk.finish(self.run, deadline=_soon(), tolerated=self.tolerated)
        except (ServiceError, BulkError) as error:
            trouble = STOPPED if self.stop.event.is_set() else explained(error)
            return SegmentOutcome(self.run, self.counts, trouble)
        if counts is None and self.stop.event.is_set():
            return SegmentOutcome(self.run, self.counts, STOPPED)
        if counts is None and not self._ended_by_others():
            return SegmentOutcome(self.run, self.counts, OVERTAKEN)
        return SegmentOutcome(self.run, self.counts if counts is None else counts)

    def _ended_by_others(self) -> bool:
        """Tell whether somebody who worked on it too was the first to see that all is done."""
        mark = self.bulk.built(deadline=_soon()).get(self.run, {})
        return mark.get("model") == self.bulk.model_of(self.run)

    @property
    def counts(self) -> Counter[str]:
        """Add up what has been done."""
        with self._lock:
            return sum(self._counts.values(), Counter[str]())

    def _begin(self, of: int | None, *, restart: bool) -> list[Segment]:
        """Begin, as soon as nobody is at work on what must be put right first.

        Raises a SettingsError if other code was deployed meanwhile.
        """
        while not self.stop.event.is_set():
            try:
                segments = self.bulk.begin(
                    self.run, of, deadline=_soon(), restart=restart, tolerated=self.tolerated
                )
            except SegmentTakenError as error:
                self._wait(error, LONG_NAP_SECONDS)
            else:
                self._see(*self.bulk.progress.records(self.run, deadline=_soon()))
                return segments
        return []

    def _work(self, segments: Sequence[Segment]) -> None:
        waiting: SimpleQueue[Segment] = SimpleQueue()
        for segment in segments:
            waiting.put(segment)
        halt = Event()
        threads = min(MOST_THREADS, max(1, len(segments)))
        with ThreadPoolExecutor(threads) as pool:
            working = [pool.submit(self._take_turns, waiting, halt) for _ in range(threads)]
        for one in working:
            one.result()

    def _take_turns(self, waiting: "SimpleQueue[Segment]", halt: Event) -> None:
        """Take segments until none is left; one that fails ends the work of all."""
        worker = replace(
            self.worker or self.bulk.worker(self.run),
            tolerated=self.tolerated,
            stopped=lambda: halt.is_set() or self.stop.event.is_set(),
            watch=self._see,
            total=lambda _: self.counts,
            sleep=self.stop.sleep,
        )
        try:
            while not worker.stopped():
                segment = waiting.get_nowait()
                try:
                    self._see(worker.work(segment, end=self.stop.end))
                except SegmentTakenError as error:
                    waiting.put(segment)  # another may be free meanwhile
                    self._wait(error)
        except Empty:
            return
        except BaseException:
            halt.set()  # the others stop at their next page
            raise

    def _wait(self, error: SegmentTakenError, longest: float = NAP_SECONDS) -> None:
        """Wait a little for a segment that somebody else has, or had when he died."""
        with self._lock:
            told, self._told = self._told, True
        if not told:
            self.say(f"waiting: {error}")
        self.stop.sleep(min(error.seconds, longest))

    def _see(self, *records: SegmentState) -> None:
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
    """Connect to the tables that *settings* name, on a budget; *check* that they are still so."""
    pool = Config(max_pool_connections=MOST_THREADS * MAX_CONCURRENCY)
    clients = Clients(dynamodb_client(CLIENT.merge(pool)))
    metered = Metered(clients.dynamodb, RateLimiter(limits.max_rcu), RateLimiter(limits.max_wcu))
    bulk = replace(make_bulk(model, settings, clients, metered, migrations()), check=check)
    _check_progress(clients, bulk.progress.name)
    if not settings.dead_letter_queue_url:
        return replace(bulk, post=LetterFile(LETTERS))
    return bulk


def _check_progress(clients: Clients, name: str) -> None:
    """Find the progress table; a local engine is given one."""
    dynamodb = clients.dynamodb
    try:
        dynamodb.describe_table(TableName=name)
    except dynamodb.exceptions.ResourceNotFoundException as error:
        if not os.environ.get(ENDPOINT):
            msg = f"there is no table {name!r}: deploy this version of AdminView first"
            raise SettingsError(msg) from error
        create(dynamodb, progress_table(name))
