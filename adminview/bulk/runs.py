"""Runs of a task over all segments of a table: begin, resume, finish."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import randrange
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
from adminview.bulk.lease_table import GENERATION, LeaseTable
from adminview.bulk.migrate import Migrate
from adminview.bulk.segment import MOST_SEGMENTS, Segment, SegmentState
from adminview.bulk.sweep import Sweep
from adminview.bulk.task import Task
from adminview.bulk.verify import phases
from adminview.bulk.verify.compare_totals import CompareTotals
from adminview.bulk.verify.group_chunks import SLOTS, ChunkStore
from adminview.bulk.verify.phases import DAILY, OF_TOTALS, PHASES, SUMS, VERIFY_TOTALS, phase_of
from adminview.bulk.verify.scope import Scope, VerifyPhase
from adminview.bulk.verify.totals import AddUpRows, ReadTotals, TotalsAccess
from adminview.bulk.verify.verify import Verify
from adminview.bulk.worker import SegmentWorker, check_failures, first_within, too_many
from adminview.model import Migration, Registry
from adminview.model.errors import RecordError, SettingsError
from adminview.model.readiness import progress_table
from adminview.model.total import totals_table
from adminview.reconcile.reconciler import Reconciler
from adminview.sync.decode import Route, routes

TASKS = BACKFILL, SWEEP, MIGRATE, VERIFY = "backfill", "sweep", "migrate", phases.VERIFY
ROWS: Final = phases.ROWS  # ends the task of the second phase of a verification
EVERYTHING: Final = "*"  # the subject of a run over all sources
SEGMENTS: Final = 16
SCOPE, SEED, SEEDS = "scope", "seed", 1 << 32  # in a beginning
PATIENCE_SECONDS: Final = 60.0
FINDINGS_LIMIT: Final = 300 * 1024  # bytes; DynamoDB limits an item to 400 KB


@dataclass(frozen=True, slots=True)
class Bulk:
    """Everything that bulk work needs."""

    registry: Registry
    settings: Settings
    client: Metered
    progress: LeaseTable
    post: DeadLetterSink
    backoff: Backoff
    migrations: Mapping[str, Migration] = field(default_factory=dict)
    report_error: Callable[[RecordError], object] = lambda _: None  # of a migration
    check: Callable[[], object] = lambda: None  # raises if other code is deployed
    now: Callable[[], float] = time.time
    clock: Callable[[], float] = awake_or_asleep  # of the leases

    def run(self, kind: str, subject: object = EVERYTHING) -> str:
        """Name a run by its task and subject; raise a SettingsError if one is unknown."""
        if kind not in {*TASKS, *PHASES}:
            msg = f"no task is named {kind!r}; choose one of {', '.join(TASKS)}"
            raise SettingsError(msg)
        if kind == MIGRATE:
            noun, known = "migration", [*self.migrations]
        else:
            noun, known = "source", [source.name for source in self.registry.sources]
        whole = kind in {SWEEP, *PHASES} and subject == EVERYTHING
        if PHASES.get(kind) in OF_TOTALS and not whole:
            msg = f"rows of all sources contribute to a total: verify all, not {subject!r}"
            raise SettingsError(msg)
        if subject not in known and not whole:
            msg = f"no {noun} is named {subject!r}; declared are {', '.join(known) or 'none'}"
            raise SettingsError(msg)
        return f"{kind}/{subject}"

    def begin(  # noqa: PLR0913 - the options of a run
        self,
        run: str,
        of: int | None,
        *,
        deadline: Deadline,
        restart: bool = False,
        tolerated: int | None = None,
        scope: Scope | None = None,
    ) -> list[Segment]:
        """Begin or resume a run, and return the segments that are not done.

        A run with more failed items than are tolerated starts over: the items may have been fixed,
        and they must be processed again to know.

        The intents of abandoned runs and of older models are recovered first. Raises a
        SegmentTakenError if a worker is still active on one. A verification has a *scope*, which
        also determines the number of segments.
        """
        if scope is not None:
            of = self._segments(run, scope.check())
        elif of is not None and not 1 <= of <= MOST_SEGMENTS:
            msg = f"{of} segments: choose 1 to {MOST_SEGMENTS}"
            raise SettingsError(msg)
        self.check()
        records = self.progress.records(run, deadline=deadline)
        ended = self._generations_ended(run, deadline)
        current = [] if restart else self._current(run, records, ended)
        if too_many(added_up(current), tolerated) or not self._fits(run, current, scope, deadline):
            current = []
        before = {record.segment.of for record in current}
        of = of or max(before, default=SEGMENTS)
        if before - {of}:
            msg = (
                f"{run} was begun with {max(before)} segments and has not finished: "
                "resume it with the same number, or start again with --restart"
            )
            raise SettingsError(msg)
        generation = max((record.segment.generation for record in current), default=0)
        if not generation:
            last = max(ended, *(record.segment.generation for record in records), 0)
            generation = self._begin(run, of, scope, last, deadline, restart=restart)
            # Again: until now, a worker of an earlier generation could add a state.
            records = self.progress.records(run, deadline=deadline)
            current = [record for record in records if record.segment.generation == generation]
        for record in records:
            if record not in current:
                worker = self.worker(run)
                self.progress.forget(worker.recover(record, end=deadline), deadline=deadline)
        done = {record.segment.number for record in current if record.done}
        return [Segment(run, number, of, generation) for number in range(of) if number not in done]

    def _segments(self, run: str, scope: Scope) -> int:
        """Return how many segments a verification has."""
        if phase_of(run) in OF_TOTALS:
            return SLOTS if phase_of(run) is VerifyPhase.COMPARISON else scope.segments
        return scope.count(self.tables(run))

    def _fits(
        self, run: str, current: Sequence[SegmentState], scope: Scope | None, deadline: Deadline
    ) -> bool:
        """Return whether a run can be resumed, if one is in progress; False if it must start over.

        Raises a SettingsError if its scope differs.
        """
        if scope is None or not current:
            return True
        begun = self.progress.begun(run, deadline=deadline).get(SCOPE, {})
        if begun.get("after") != scope.after:
            return False  # its first phase was repeated
        if (unlike := scope.unlike(begun)) and run.startswith(DAILY):
            return False  # the stage was changed
        if unlike:
            options = ", ".join(f"{name} {begun.get(name)!r}" for name in unlike)
            msg = (
                f"{run} was begun with {options} and has not finished: "
                "finish it with the same options, or start again with --restart"
            )
            raise SettingsError(msg)
        return True

    def _begin(  # noqa: PLR0913 - the facts of a beginning
        self,
        run: str,
        of: int,
        scope: Scope | None,
        last: int,
        deadline: Deadline,
        *,
        restart: bool,
    ) -> int:
        """Return a generation after *last*: one that began in the same way, or a new one."""
        facts: dict[str, Any] = {"model": self.model_of(run), "of": of}
        if scope is not None:
            facts[SCOPE] = scope.to_json()
        while True:
            begun = self.progress.begun(run, deadline=deadline)
            generation = int(begun.pop(GENERATION))
            seed = begun.get(SCOPE, {}).get(SEED)
            if scope is not None:
                facts[SCOPE][SEED] = seed
            if generation > last and not restart and begun == facts:
                return generation
            if scope is not None:
                facts[SCOPE][SEED] = randrange(SEEDS)  # noqa: S311 - a sample, not a secret
            new = max(last, generation) + 1
            if self.progress.begin(run, {**facts, GENERATION: new}, deadline=deadline):
                return new

    def finish(
        self, run: str, *, deadline: Deadline, tolerated: int | None = None
    ) -> Counter[str] | None:
        """Write the completion of a run whose segments are all done, and return its counts.

        Returns None if a segment is not done, or if a later run or other code has overtaken it.
        Raises a TooManyFailuresError if more items failed than are tolerated, even before the end.
        """
        records = self.progress.records(run, deadline=deadline)
        ended = self._generations_ended(run, deadline)
        begun = self._current(run, records, ended)
        counts = added_up(begun)
        check_failures(run, counts, tolerated)
        current = [record for record in begun if record.done]
        if not current or len(current) < current[0].segment.of:
            return None
        generation = current[0].segment.generation
        facts = self._facts(run, generation, counts)
        if phase_of(run):
            facts[SCOPE] = self.progress.begun(run, deadline=deadline).get(SCOPE)
            findings = first_within(FINDINGS_LIMIT, *(record.findings for record in current))
            self.progress.keep_findings(run, generation, findings, deadline=deadline)
        if not self.progress.complete(run, facts, deadline=deadline):
            return None
        for record in current:
            self.progress.forget(record, deadline=deadline)
        return counts

    def check_failures(self, run: str, *, deadline: Deadline, tolerated: int) -> None:
        """Raise a TooManyFailuresError if more items of a run failed than are tolerated."""
        records = self.progress.records(run, deadline=deadline)
        ended = self._generations_ended(run, deadline)
        check_failures(run, added_up(self._current(run, records, ended)), tolerated)

    def worker(self, run: str) -> SegmentWorker:
        return SegmentWorker(
            self.task(run), self.progress, self.model_of(run), self.client, clock=self.clock
        )

    def tables(self, run: str) -> list[str]:
        """Return the tables that a run scans."""
        kind, _, subject = run.partition("/")
        if kind == SWEEP or phase_of(run) in {VerifyPhase.ROWS, VerifyPhase.SUMS}:
            return [self.settings.view_table]
        if phase_of(run) in OF_TOTALS:
            return [totals_table(self.settings.view_table)]
        if subject == EVERYTHING:
            return [self._table(source.name) for source in self.registry.sources]
        return [self._table(self.migrations[subject].source.name if kind == MIGRATE else subject)]

    def _table(self, source: str) -> str:
        return self.settings.sources.get(source, source)

    def task(self, run: str) -> Task:
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
        if phase_of(run) in OF_TOTALS:
            return self._verify_totals(run, reader)
        if kind in PHASES:
            return self._verify(run, by_name, reader)
        rows = ViewTable(Boto3BatchWriter(self._dynamodb), view, self.backoff)
        return Backfill(by_name[subject], reader, rows, view, self._reconciler, self.post, self.now)

    def _verify(self, run: str, by_name: Mapping[str, Route], reader: TableScanner) -> Verify:
        """Make the task of a verification from what its beginning says."""
        kind, _, subject = run.partition("/")
        deadline = Deadline.after(PATIENCE_SECONDS)
        scope = Scope(**self.progress.begun(run, deadline=deadline).get(SCOPE, {}))
        findings: list[Any] = []
        if PHASES[kind] is VerifyPhase.ROWS:
            first = f"{kind.removesuffix(ROWS)}/{subject}"
            findings = self.progress.findings(first, scope.after, deadline=deadline)
        return Verify(
            phase=PHASES[kind],
            routes=by_name,
            view_table=self.settings.view_table,
            reader=reader,
            reconciler=self._reconciler,
            scope=scope,
            source=None if subject == EVERYTHING else subject,
            known=frozenset(
                tuple(finding["row"] or ()) or finding["owner"] for finding in findings
            ),
            check_deployed=self.check,
            now=self.now,
        )

    def _verify_totals(self, run: str, reader: TableScanner) -> Task:
        """Make the task of a verification of totals from what the runs before it say."""
        kind, _, subject = run.partition("/")
        phase, deadline = PHASES[kind], Deadline.after(PATIENCE_SECONDS)
        scope = Scope(**self.progress.begun(run, deadline=deadline).get(SCOPE, {}))
        access = TotalsAccess(
            view_table=self.settings.view_table,
            reader=reader,
            store=ChunkStore(self._dynamodb, self.progress.name, self.backoff),
            client=self._dynamodb,
            scope=scope,
            now=self.now,
            totals=self.registry.totals,
            check_deployed=self.check,
        )
        if phase is VerifyPhase.TOTALS:
            return ReadTotals(access)
        prefix = DAILY if kind.startswith(DAILY) else ""
        first, second = (f"{prefix}{VERIFY_TOTALS}{end}/{subject}" for end in ("", SUMS))
        if phase is VerifyPhase.SUMS:
            ended = self.progress.completion(first, deadline=deadline).get("at", 0.0)
            return AddUpRows(access, ended + scope.grace)
        began = self.progress.begun(second, deadline=deadline).get(SCOPE, {})
        return CompareTotals(access, (first, began.get("after", 0)), (second, scope.after))

    def _migrate(self, migration: Migration, reader: TableScanner) -> Migrate:
        return Migrate(
            migration,
            self._table(migration.source.name),
            reader,
            SourceReader(self._dynamodb, self.backoff),
            SourceUpdates(self._dynamodb, self.backoff),
            report_error=lambda _, error: self.report_error(error),
            backoff=self.backoff,
        )

    def built(self, *, deadline: Deadline) -> dict[str, dict[str, Any]]:
        """Return the facts of finished runs, by run."""
        return self.progress.completions(deadline=deadline)

    @property
    def model(self) -> str:
        return self.settings.model

    def model_of(self, run: str) -> str:
        """Return the fingerprint of a run's code: progress of other code does not count."""
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

    def _current(self, run: str, records: Iterable[SegmentState], ended: int) -> list[SegmentState]:
        """Select the states of the current run: of this model and not of a finished generation."""
        model = self.model_of(run)
        ours = [
            record
            for record in records
            if record.model == model and record.segment.generation > ended
        ]
        # Two runs may have begun at the same time: the later or finer one continues.
        last = max(
            ((record.segment.generation, record.segment.of) for record in ours), default=None
        )
        return [record for record in ours if (record.segment.generation, record.segment.of) == last]

    def _generations_ended(self, run: str, deadline: Deadline) -> int:
        return int(self.progress.completion(run, deadline=deadline).get(GENERATION, 0))

    def _facts(self, run: str, generation: int, counts: Mapping[str, int]) -> dict[str, Any]:
        code = self.registry.description()["code"].get(run.partition("/")[2])
        facts = {"model": self.model_of(run), "code": code, "at": self.now()}
        return {**facts, "counts": dict(counts), GENERATION: generation}


def added_up(records: Iterable[SegmentState]) -> Counter[str]:
    return sum((record.counts for record in records), Counter[str]())


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
