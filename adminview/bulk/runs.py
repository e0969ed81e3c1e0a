"""Runs: a task on all segments of a table, begun, resumed and ended."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from adminview.aws.batch_writers import Boto3BatchWriter
from adminview.aws.clients import Clients
from adminview.aws.dead_letter_producer import DeadLetterProducer, DeadLetterSink
from adminview.aws.deadline import Deadline, awake_or_asleep
from adminview.aws.metered_client import Metered
from adminview.aws.retry import Backoff
from adminview.aws.row_store import RowStore
from adminview.aws.settings import Settings
from adminview.aws.source_tables import SourceReader
from adminview.aws.source_updates import SourceUpdates
from adminview.aws.table_scanner import TableScanner
from adminview.aws.view_table import ViewTable
from adminview.bulk.backfill import Backfill
from adminview.bulk.lease_table import TURN, LeaseTable, progress_table
from adminview.bulk.migrate import Migrate
from adminview.bulk.segment import MOST_SEGMENTS, Record, Segment
from adminview.bulk.sweep import Sweep
from adminview.bulk.task import Task
from adminview.bulk.worker import Worker, check_failures, too_many
from adminview.model import Migration, Registry
from adminview.model.errors import RecordError, SettingsError
from adminview.reconcile.reconciler import Reconciler
from adminview.sync.decode import routes

TASKS = BACKFILL, SWEEP, MIGRATE = "backfill", "sweep", "migrate"
EVERYTHING: Final = "*"  # what a sweep is about, if not one source
SEGMENTS: Final = 16


@dataclass(frozen=True, slots=True)
class Bulk:
    """Everything that bulk work is done with."""

    registry: Registry
    settings: Settings
    client: Metered
    progress: LeaseTable
    post: DeadLetterSink
    backoff: Backoff
    migrations: Mapping[str, Migration] = field(default_factory=dict)
    report_error: Callable[[RecordError], object] = lambda _: (
        None
    )  # why a migration fails on an item
    check: Callable[[], object] = lambda: None  # raises if other code is deployed by now
    now: Callable[[], float] = time.time
    clock: Callable[[], float] = awake_or_asleep  # that the workers' leases are kept by

    def run(self, kind: str, subject: object = EVERYTHING) -> str:
        """Name a run: what is done, and to what; or say what there is."""
        if kind not in TASKS:
            msg = f"no task is named {kind!r}; there are {', '.join(TASKS)}"
            raise SettingsError(msg)
        if kind == MIGRATE:
            what, known = "migration", [*self.migrations]
        else:
            what, known = "source", [source.name for source in self.registry.sources]
        if subject not in known and (kind, subject) != (SWEEP, EVERYTHING):
            msg = f"no {what} is named {subject!r}; there are {', '.join(known) or 'none'}"
            raise SettingsError(msg)
        return f"{kind}/{subject}"

    def begin(
        self,
        run: str,
        of: int | None,
        *,
        deadline: Deadline,
        restart: bool = False,
        tolerated: int | None = None,
    ) -> list[Segment]:
        """Begin a run, or go on with one: which segments are still to be done.

        One in which more items failed than are to be tolerated is begun anew: they may be right by
        now, and only another look can tell.

        What another run has left in hand is put right first: a run of an older model, or one that
        is not to go on. Raises a SegmentTakenError if somebody is still at work on it.
        """
        if of is not None and not 1 <= of <= MOST_SEGMENTS:
            msg = f"{of} segments: choose 1 to {MOST_SEGMENTS}"
            raise SettingsError(msg)
        self.check()
        found = self.progress.records(run, deadline=deadline)
        ended = self._turns_ended(run, deadline)
        current = [] if restart else self._current(run, found, ended)
        if too_many(added_up(current), tolerated):
            current = []
        before = {one.segment.of for one in current}
        of = of or max(before, default=SEGMENTS)
        if before - {of}:
            msg = (
                f"{run} was begun with {max(before)} segments and has not finished: "
                "go on with so many, or restart it"
            )
            raise SettingsError(msg)
        for one in found:
            if one not in current:
                worker = self.worker(run)
                self.progress.forget(worker.recover(one, end=deadline), deadline=deadline)
        done = {one.segment.number for one in current if one.done}
        turns = [one.segment.turn for one in current]
        turn = max(turns or [ended, *(one.segment.turn for one in found)]) + (not turns)
        return [Segment(run, number, of, turn) for number in range(of) if number not in done]

    def finish(
        self, run: str, *, deadline: Deadline, tolerated: int | None = None
    ) -> Counter[str] | None:
        """Mark a run as done if all its segments are, and add up what was done; else None.

        None too if a later run has ended, or other code has come, meanwhile.
        Raises a TooManyFailuresError if more items of the run failed than are to be tolerated,
        also before all is done.
        """
        found = self.progress.records(run, deadline=deadline)
        ended = self._turns_ended(run, deadline)
        begun = self._current(run, found, ended)
        counts = added_up(begun)
        check_failures(run, counts, tolerated)
        current = [one for one in begun if one.done]
        if not current or len(current) < current[0].segment.of:
            return None
        facts = self._facts(run, current[0].segment.turn, counts)
        if not self.progress.mark(run, facts, deadline=deadline):
            return None
        for one in current:
            self.progress.forget(one, deadline=deadline)
        return counts

    def worker(self, run: str) -> Worker:
        """Make a worker for the segments of a run."""
        return Worker(
            self.task(run), self.progress, self.model_of(run), self.client, clock=self.clock
        )

    def table(self, run: str) -> str:
        """Name the table that a run goes through."""
        kind, _, subject = run.partition("/")
        if kind == SWEEP:
            return self.settings.view_table
        source = self.migrations[subject].source.name if kind == MIGRATE else subject
        return self.settings.sources.get(source, source)

    def task(self, run: str) -> Task:
        """Make the task that a run's name says."""
        kind, _, subject = run.partition("/")
        reader = TableScanner(self._dynamodb, backoff=self.backoff)
        by_name = {
            route.source.name: route
            for route in routes(self.registry, self.settings.sources).values()
        }
        view = self.settings.view_table
        if kind == SWEEP:
            only = None if subject == EVERYTHING else subject
            return Sweep(by_name, view, reader, self._reconciler, self.post, only, self.now)
        if kind == MIGRATE:
            return self._migrate(self.migrations[subject], reader)
        rows = ViewTable(Boto3BatchWriter(self._dynamodb), view, self.backoff)
        return Backfill(by_name[subject], reader, rows, view, self._reconciler, self.post, self.now)

    def _migrate(self, migration: Migration, reader: TableScanner) -> Migrate:
        return Migrate(
            migration,
            self.table(f"{MIGRATE}/{migration.name}"),
            reader,
            SourceReader(self._dynamodb, self.backoff),
            SourceUpdates(self._dynamodb, self.backoff),
            report_error=lambda _, error: self.report_error(error),
            backoff=self.backoff,
        )

    def built(self, *, deadline: Deadline) -> dict[str, dict[str, Any]]:
        """Say which runs have ended, of which model."""
        return self.progress.marks(deadline=deadline)

    @property
    def model(self) -> str:
        """The fingerprint that rows are stamped with."""
        return self.settings.model

    def model_of(self, run: str) -> str:
        """Identify the code that a run is of: what other code has done is no progress."""
        kind, _, subject = run.partition("/")
        return self.migrations[subject].digest if kind == MIGRATE else self.model

    @property
    def _dynamodb(self) -> Any:
        return self.client

    @property
    def _reconciler(self) -> Reconciler:
        return Reconciler(
            sources=SourceReader(self._dynamodb, self.backoff),
            rows=RowStore(self._dynamodb, self.settings.view_table, self.backoff),
            model=self.model,
            post=self.post,
            now=self.now,
            routes=[*routes(self.registry, self.settings.sources).values()],
        )

    def _current(self, run: str, found: Iterable[Record], ended: int) -> list[Record]:
        """Find the records of the run that goes on: its model's, and no older one's leavings."""
        model = self.model_of(run)
        ours = [one for one in found if one.model == model and one.segment.turn > ended]
        # Two that were begun at once may differ: the later or finer one goes on.
        last = max(((one.segment.turn, one.segment.of) for one in ours), default=None)
        return [one for one in ours if (one.segment.turn, one.segment.of) == last]

    def _turns_ended(self, run: str, deadline: Deadline) -> int:
        return int(self.progress.marks(deadline=deadline).get(run, {}).get(TURN, 0))

    def _facts(self, run: str, turn: int, counts: Mapping[str, int]) -> dict[str, Any]:
        code = self.registry.description()["code"].get(run.partition("/")[2])
        facts = {"model": self.model_of(run), "code": code, "at": self.now()}
        return {**facts, "counts": dict(counts), TURN: turn}


def added_up(records: Iterable[Record]) -> Counter[str]:
    """Add up what has been done."""
    return sum((one.counts for one in records), Counter[str]())


def make_bulk(
    registry: Registry,
    settings: Settings,
    clients: Clients,
    client: Metered,
    migrations: Mapping[str, Migration] | None = None,
) -> Bulk:
    """Connect a model to the tables and the queue that *settings* name."""
    backoff = Backoff()
    return Bulk(
        registry=registry,
        settings=settings,
        client=client,
        progress=LeaseTable(clients.dynamodb, progress_table(settings.view_table), backoff),
        post=DeadLetterProducer(clients.sqs, settings.dead_letter_queue_url, backoff),
        backoff=backoff,
        migrations=migrations or {},
    )
