"""Compare the view with its sources, both ways, while both go on changing.

A page is read cheaply, and whatever differs in it is suspect: most often a change in flight. After
a grace it is looked at again, with consistent reads. If it still differs, and the item is what it
was at the look before, the sync had its time: the difference is real.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Protocol

from adminview.aws.clients import Clients
from adminview.aws.concurrency import MAX_CONCURRENCY, batched
from adminview.aws.dead_letter_producer import DeadLetterSink, LazyDeadLetterProducer
from adminview.aws.deadline import Deadline
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.retry import Backoff
from adminview.aws.row_store import RowStore
from adminview.aws.settings import Settings
from adminview.aws.source_tables import SourceReader
from adminview.aws.table_scanner import ScanPage, TableScanner, owners_only
from adminview.bulk.verify.candidates import Candidate
from adminview.bulk.verify.compare_page import (
    Claim,
    by_owner,
    claims,
    compare_items,
    compare_rows,
    suspect_rows,
    target_of,
)
from adminview.bulk.verify.differences import Difference, Kind
from adminview.bulk.verify.recheck import Rechecker
from adminview.bulk.verify.repair import Repairer
from adminview.bulk.verify.run import PageComparison, Run
from adminview.bulk.verify.scope import Scope, ScopeSegment, VerifyPhase
from adminview.model import Registry
from adminview.model.row import Attributes, key_image, key_of
from adminview.model.source import UNKNOWN
from adminview.reconcile.item_ref import ItemRef
from adminview.reconcile.reconciler import Reconciler
from adminview.sync.decode import Route, routes

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

GRACE_SECONDS = 15.0
MOST_LOOKS = 5  # at an item that keeps changing
MOST_THREADS = MAX_CONCURRENCY  # as many as a client keeps connections
ITEMS_AT_ONCE = 100  # whose rows are held together
PATIENCE_SECONDS = 30.0  # with AWS, for one item or page
NAP_SECONDS = 1.0  # the longest, so that a stop is soon noticed


NOT_URGENT = float("-inf")


class Journal(Protocol):
    """Who writes down how far a run is."""

    def note(self, run: Run, *, since: float = NOT_URGENT) -> None:
        """Write it down now and then; now, if that was not done *since* a moment."""


class NoJournal:
    """For a run that nobody will resume."""

    def note(self, run: Run, *, since: float = NOT_URGENT) -> None:
        """Forget it."""


@dataclass(frozen=True, slots=True)
class Verifier:
    """The tables, the model, and the time that verification takes."""

    routes: dict[str, Route]  # by the names of their sources
    view_table: str
    reader: TableScanner
    reconciler: Reconciler
    grace: float = GRACE_SECONDS
    patience: float = PATIENCE_SECONDS
    end: Deadline | None = None  # when no call may be made any more
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep
    stopped: Callable[[], bool] = field(default=lambda: False)
    journal: Journal = field(default_factory=NoJournal)
    check: Callable[[], object] = field(default=lambda: None)  # raises if nothing may be repaired

    def begin(self, scope: Scope, randomness: random.Random | None = None) -> Run:
        """Begin a run."""
        chosen = randomness or random.Random()  # noqa: S311 - a sample, not a secret
        segments = scope.check(self.routes).cut(self.routes, chosen.sample)
        return Run(scope, segments, grace=self.grace, clock=self.clock)

    def verify(self, run: Run) -> None:
        """Go on with a run until it is finished or stopped.

        Raises a ServiceError if AWS goes on refusing; the run can go on later from where it is.
        """
        for begun in run.repairing:
            self._mend(run, begun, 0.0)
        for stage in VerifyPhase:
            # One after the other: only when no item misses it is a row without an owner nobody's.
            if not self.stopped():
                self._verify(run, stage)

    def deadline(self) -> Deadline:
        """Give one item or page its time."""
        patient = Deadline.after(self.patience, self.clock)
        return patient if self.end is None or patient.at < self.end.at else self.end

    def _verify(self, run: Run, stage: VerifyPhase) -> None:
        halt = Event()
        threads = min(run.scope.segments, MOST_THREADS)
        if threads == 1:
            return self._work(run, stage, halt)
        with ThreadPoolExecutor(threads) as pool:
            working = [pool.submit(self._work, run, stage, halt) for _ in range(threads)]
        for one in working:
            one.result()
        return None

    def _work(self, run: Run, stage: VerifyPhase, halt: Event) -> None:
        """Settle suspects whose grace is over, and read pages in between, until all is done."""
        try:
            while not halt.is_set() and not self.stopped():
                if candidate := run.take_suspect():
                    self._settle(run, candidate)
                elif taken := run.take_segment(stage):
                    self._turn_page(run, *taken)
                elif (rest := run.rest(stage)) is not None:
                    self.sleep(min(rest, NAP_SECONDS))
                else:
                    return
        except BaseException:
            halt.set()  # the others stop at their next page
            raise

    def _turn_page(self, run: Run, segment: ScopeSegment, start: Attributes | None) -> None:
        try:
            if segment.stage is VerifyPhase.ITEMS:
                page, glance = self._read_items(segment, start, run.scope)
            else:
                page, glance = self._read_rows(segment, start, run.scope)
            glance.scanned = page.scanned
            run.turn_page(segment, page.last, glance)
        finally:
            run.leave(segment)
        self.journal.note(run)

    def _read_items(
        self, segment: ScopeSegment, start: Attributes | None, scope: Scope
    ) -> tuple[ScanPage, PageComparison]:
        """Read a page of a source, and the rows that its items should have."""
        route = self.routes[segment.source]
        part = (segment.number, segment.total)
        page = self.reader.page(route.table, part, start, deadline=self.deadline)
        glance = PageComparison()
        glance.counts[segment.source]["items"] += len(page.items)
        for items in batched(page.items, ITEMS_AT_ONCE):
            made = claims(route, items, self.reconciler.now(), scope.model, glance)
            keys = dict.fromkeys(key for one in made for key in one.rows or ())
            wanted = [key_image(key) for key in keys]
            found = self.reader.get(self.view_table, wanted, deadline=self.deadline)
            rows = {key_of(row): row for row in found}
            compare_items(segment.source, made, rows, glance)
        return page, glance

    def _read_rows(
        self, segment: ScopeSegment, start: Attributes | None, scope: Scope
    ) -> tuple[ScanPage, PageComparison]:
        """Read a page of the view, and the items that its rows name."""
        part, only = (segment.number, segment.total), owners_only(scope.source)
        page = self.reader.page(self.view_table, part, start, deadline=self.deadline, **only)
        glance = PageComparison()
        owned: dict[str, ItemRef] = {}
        for owner, rows in by_owner(page.items).items():
            if target := target_of(self.routes, owner, rows):
                owned[owner] = target
            else:
                name = owner.partition("/")[0]
                suspect_rows(name if name in self.routes else UNKNOWN, owner, rows, glance)
        for targets in self._shares(list(owned.values())):
            made = self._claims(targets, scope)
            for target in targets:
                compare_rows(target, made, target.rows, glance)
        return page, glance

    def _shares(self, targets: Sequence[ItemRef]) -> Iterator[Sequence[ItemRef]]:
        """Cut targets into such as are of one source, and few enough to be held together."""
        for route in self.routes.values():
            yield from batched([one for one in targets if one.route is route], ITEMS_AT_ONCE)

    def _claims(self, targets: Sequence[ItemRef], scope: Scope) -> dict[str, Claim]:
        route = targets[0].route
        keys = [one.key for one in targets]
        items = self.reader.get(route.table, keys, deadline=self.deadline)
        made = claims(route, items, self.reconciler.now(), scope.model, PageComparison())
        return {one.owner: one for one in made}

    def _settle(self, run: Run, candidate: Candidate) -> None:
        """Look at a suspect again, and let it go, wait once more, or be counted."""
        look = Rechecker(self.routes, self.reconciler, self.reader.budget, self.deadline).look
        try:
            seen = look(candidate, all_=run.scope.repair)
        except BaseException:
            run.put_back(candidate)
            raise
        if not seen.differences:
            run.clear(candidate)
        elif seen.digest != candidate.digest and candidate.looks + 1 < MOST_LOOKS:
            run.defer(candidate, seen.digest)
        elif (new := run.confirm(candidate, seen.differences)) and run.scope.repair:
            self._mend(run, new, seen.cost)
        self.journal.note(run)

    def _mend(self, run: Run, differences: Sequence[Difference], cost: float) -> None:
        self.check()
        # What is about to be repaired must be known after a crash. It has been a suspect for a
        # grace at least, so whatever was written down since then names it.
        self.journal.note(run, since=self.clock() - self.grace)
        budget = self.reader.budget
        budget.wait()
        mender = Repairer(self.routes, self.reconciler, self.deadline)
        run.repair_row(
            mender.repair_row(differences, whole=run.scope.whole and not run.total[Kind.FAILING])
        )
        budget.spend(cost + 1)  # the item is read once more than by a look


def make_verifier(  # noqa: PLR0913 - what it works with
    registry: Registry,
    settings: Settings,
    dynamodb: "DynamoDBClient",
    budget: RateLimiter | None = None,
    backoff: Backoff | None = None,
    *,
    post: DeadLetterSink | None = None,
) -> Verifier:
    """Connect a model to the tables that *settings* name; in-doubt letters of repairs to *post*."""
    found = [*routes(registry, settings.sources).values()]
    return Verifier(
        routes={route.source.name: route for route in found},
        view_table=settings.view_table,
        reader=TableScanner(dynamodb, budget, backoff),
        reconciler=Reconciler(
            sources=SourceReader(dynamodb, backoff),
            rows=RowStore(dynamodb, settings.view_table, backoff),
            model=settings.model,
            post=post or LazyDeadLetterProducer(Clients(), settings.dead_letter_queue_url),
            routes=found,
        ),
    )
