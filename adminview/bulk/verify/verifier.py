"""Compare the view with its sources, both ways, while both keep changing.

Pages are read with eventually consistent reads. What differs is a candidate: most often a change in
flight. After a grace period it is rechecked with consistent reads. If it still differs, and the
item has not changed since the last check, the sync had enough time: the difference is real.
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
from adminview.bulk.verify.run import Candidate, PageComparison, VerifyRun
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
MOST_THREADS = MAX_CONCURRENCY  # the number of connections that a client keeps
ITEMS_AT_ONCE = 100  # whose rows are in memory together
PATIENCE_SECONDS = 30.0  # for one item or page, with retries
NAP_SECONDS = 1.0  # at most, to notice a stop soon

NOT_URGENT = float("-inf")


class Journal(Protocol):
    """Saves the state of a run, so that it can be resumed."""

    def note(self, run: VerifyRun, *, since: float = NOT_URGENT) -> None:
        """Save the state from time to time, and at once if the last save was before *since*."""


class NoJournal:
    """The journal of a run that is never resumed."""

    def note(self, run: VerifyRun, *, since: float = NOT_URGENT) -> None: ...


@dataclass(frozen=True, slots=True)
class Verifier:
    routes: dict[str, Route]  # by source name
    view_table: str
    reader: TableScanner
    reconciler: Reconciler
    grace: float = GRACE_SECONDS
    patience: float = PATIENCE_SECONDS
    end: Deadline | None = None  # no call begins later
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep
    stopped: Callable[[], bool] = field(default=lambda: False)
    journal: Journal = field(default_factory=NoJournal)
    check: Callable[[], object] = field(default=lambda: None)  # raises if nothing may be repaired

    def begin(self, scope: Scope, randomness: random.Random | None = None) -> VerifyRun:
        chosen = randomness or random.Random()  # noqa: S311 - a sample, not a secret
        segments = scope.check(self.routes).cut(self.routes, chosen.sample)
        return VerifyRun(scope, segments, grace=self.grace, clock=self.clock)

    def verify(self, run: VerifyRun) -> None:
        """Continue a run until it is finished or stopped.

        Raises a ServiceError if AWS keeps refusing; the run can be resumed later.
        """
        for begun in run.repairing:
            self._repair(run, begun, 0.0)
        for stage in VerifyPhase:
            # In this order: a row has no owner for sure only after no item misses it.
            if not self.stopped():
                self._verify(run, stage)

    def deadline(self) -> Deadline:
        """Return the deadline for one item or page."""
        patient = Deadline.after(self.patience, self.clock)
        return patient if self.end is None or patient.at < self.end.at else self.end

    def _verify(self, run: VerifyRun, stage: VerifyPhase) -> None:
        halt = Event()
        threads = min(run.scope.segments, MOST_THREADS)
        if threads == 1:
            return self._work(run, stage, halt)
        with ThreadPoolExecutor(threads) as pool:
            working = [pool.submit(self._work, run, stage, halt) for _ in range(threads)]
        for future in working:
            future.result()
        return None

    def _work(self, run: VerifyRun, stage: VerifyPhase, halt: Event) -> None:
        """Recheck candidates that are due, and compare pages in between, until all is done."""
        try:
            while not halt.is_set() and not self.stopped():
                if candidate := run.take_candidate():
                    self._settle(run, candidate)
                elif taken := run.take_segment(stage):
                    self._turn_page(run, *taken)
                elif (seconds := run.wait_seconds(stage)) is not None:
                    self.sleep(min(seconds, NAP_SECONDS))
                else:
                    return
        except BaseException:
            halt.set()  # the other threads stop at their next page
            raise

    def _turn_page(self, run: VerifyRun, segment: ScopeSegment, start: Attributes | None) -> None:
        try:
            if segment.stage is VerifyPhase.ITEMS:
                page, comparison = self._read_items(segment, start, run.scope)
            else:
                page, comparison = self._read_rows(segment, start, run.scope)
            comparison.scanned = page.scanned
            run.turn_page(segment, page.last, comparison)
        finally:
            run.leave(segment)
        self.journal.note(run)

    def _read_items(
        self, segment: ScopeSegment, start: Attributes | None, scope: Scope
    ) -> tuple[ScanPage, PageComparison]:
        """Compare a page of a source with the rows that its items should have."""
        route = self.routes[segment.source]
        part = (segment.number, segment.total)
        page = self.reader.page(route.table, part, start, deadline=self.deadline)
        comparison = PageComparison()
        comparison.counts[segment.source]["items"] += len(page.items)
        for items in batched(page.items, ITEMS_AT_ONCE):
            derived = claims(route, items, self.reconciler.now(), scope.model, comparison)
            keys = dict.fromkeys(key for claim in derived for key in claim.rows or ())
            images = [key_image(key) for key in keys]
            read = self.reader.get(self.view_table, images, deadline=self.deadline)
            rows = {key_of(row): row for row in read}
            compare_items(segment.source, derived, rows, comparison)
        return page, comparison

    def _read_rows(
        self, segment: ScopeSegment, start: Attributes | None, scope: Scope
    ) -> tuple[ScanPage, PageComparison]:
        """Compare a page of the view with the items that its rows name."""
        part, only = (segment.number, segment.total), owners_only(scope.source)
        page = self.reader.page(self.view_table, part, start, deadline=self.deadline, **only)
        comparison = PageComparison()
        owned: dict[str, ItemRef] = {}
        for owner, rows in by_owner(page.items).items():
            if target := target_of(self.routes, owner, rows):
                owned[owner] = target
            else:
                name = owner.partition("/")[0]
                suspect_rows(name if name in self.routes else UNKNOWN, owner, rows, comparison)
        for targets in self._shares(list(owned.values())):
            derived = self._claims(targets, scope)
            for target in targets:
                compare_rows(target, derived, target.rows, comparison)
        return page, comparison

    def _shares(self, targets: Sequence[ItemRef]) -> Iterator[Sequence[ItemRef]]:
        """Batch targets by source, each batch small enough for memory."""
        for route in self.routes.values():
            yield from batched(
                [target for target in targets if target.route is route], ITEMS_AT_ONCE
            )

    def _claims(self, targets: Sequence[ItemRef], scope: Scope) -> dict[str, Claim]:
        route = targets[0].route
        keys = [target.key for target in targets]
        items = self.reader.get(route.table, keys, deadline=self.deadline)
        derived = claims(route, items, self.reconciler.now(), scope.model, PageComparison())
        return {claim.owner: claim for claim in derived}

    def _settle(self, run: VerifyRun, candidate: Candidate) -> None:
        """Recheck a candidate, then clear, defer or confirm it."""
        rechecker = Rechecker(self.routes, self.reconciler, self.reader.budget, self.deadline)
        try:
            observation = rechecker.recheck(candidate, all_=run.scope.repair)
        except BaseException:
            run.put_back(candidate)
            raise
        if not observation.differences:
            run.clear(candidate)
        elif observation.digest != candidate.digest and candidate.looks + 1 < MOST_LOOKS:
            run.defer(candidate, observation.digest)
        elif (new := run.confirm(candidate, observation.differences)) and run.scope.repair:
            self._repair(run, new, observation.cost)
        self.journal.note(run)

    def _repair(self, run: VerifyRun, differences: Sequence[Difference], cost: float) -> None:
        self.check()
        # The repair must be known after a crash. It has been a candidate for at least one grace
        # period, so any state saved since then names it.
        self.journal.note(run, since=self.clock() - self.grace)
        budget = self.reader.budget
        budget.wait()
        repairer = Repairer(self.routes, self.reconciler, self.deadline)
        complete = run.scope.complete and not run.total[Kind.FAILING]
        run.record_outcomes(repairer.repair(differences, complete=complete))
        budget.spend(cost + 1)  # a repair reads the item once more than a recheck


def make_verifier(  # noqa: PLR0913 - its dependencies
    registry: Registry,
    settings: Settings,
    dynamodb: "DynamoDBClient",
    budget: RateLimiter | None = None,
    backoff: Backoff | None = None,
    *,
    post: DeadLetterSink | None = None,
) -> Verifier:
    """Connect a model to the tables of *settings*; in-doubt dead letters go to *post*."""
    all_routes = [*routes(registry, settings.sources).values()]
    return Verifier(
        routes={route.source.name: route for route in all_routes},
        view_table=settings.view_table,
        reader=TableScanner(dynamodb, budget, backoff),
        reconciler=Reconciler(
            sources=SourceReader(dynamodb, backoff),
            rows=RowStore(dynamodb, settings.view_table, backoff),
            model=settings.model,
            post=post or LazyDeadLetterProducer(Clients(), settings.dead_letter_queue_url),
            routes=all_routes,
        ),
    )
