"""Compare the totals with the contributions on the rows, while both keep changing.

A scan is no snapshot: a row may move to another group after it was read. So the sum of a scan is
exact only for a group that did not change during the scan. A pass over the view has these steps:

    read the totals, wait, add up all rows, wait, read the totals that differ again

Each wait is the grace period: the time within which a change reaches its total and all readers.
Every update of a total moves a position. If a total has the same positions before and after the
pass, no row of its group changed during the scan: the sum is exact, and a difference is drift.

A total is abandoned if its epoch or name is not declared any more and no row contributes to it.
Nothing reads it. A repair lets it expire.

A total that changed during the pass is compared again in another pass. A total that changes during
every pass stays undecided: it is counted as neither equal nor drift.

A pass holds the totals and sums of its groups in memory, about 1 KB each. So a run divides the
groups into parts by a hash of their keys, and reads the view once for each part.
"""

import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from math import ceil
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, Final

from adminview.aws.concurrency import MAX_CONCURRENCY
from adminview.aws.deadline import Deadline
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.retry import Backoff
from adminview.aws.table_scanner import TableScanner
from adminview.aws.totals_table import expire_totals
from adminview.bulk.verify.scope import GRACE_SECONDS, Scope
from adminview.bulk.verify.totals_run import Judgement, TotalsPass, TotalsRun, groups_of
from adminview.model import Registry
from adminview.model.row import TOTALS, Attributes
from adminview.model.total import COUNT, EXPIRES, totals_table
from adminview.totals.changes import Group
from adminview.totals.comparison import StoredTotal, group_of
from adminview.totals.update import expire_leftover, expire_unused, key_of_group

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

GROUPS_AT_ONCE: Final = 500_000
PATIENCE_SECONDS: Final = 30.0  # for one page, with retries
NAP_SECONDS: Final = 1.0  # at most, to notice a stop soon
MOST_PASSES: Final = 3  # over totals that change while they are compared

WITH_CONTRIBUTIONS: Final[Mapping[str, Any]] = {
    "ProjectionExpression": "#totals",
    "FilterExpression": "attribute_exists(#totals)",
    "ExpressionAttributeNames": {"#totals": TOTALS},
}


@dataclass(frozen=True, slots=True)
class TotalsVerifier:
    """Verifies the totals of a view table."""

    client: "DynamoDBClient"
    view_table: str
    reader: TableScanner
    grace: float = GRACE_SECONDS
    patience: float = PATIENCE_SECONDS
    end: Deadline | None = None  # no call begins later
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep
    stopped: Callable[[], bool] = field(default=lambda: False)
    now: Callable[[], float] = time.time  # in seconds since 1970
    watch: Callable[[TotalsRun], object] = field(default=lambda _: None)
    check: Callable[[], object] = field(default=lambda: None)  # raises if nothing may be repaired
    # Whether a partition key belongs to a declared total and epoch.
    declared: Callable[[str], bool] = field(default=lambda _: True)

    @property
    def table(self) -> str:
        return totals_table(self.view_table)

    def begin(self, scope: Scope, randomness: random.Random | None = None) -> TotalsRun:
        """Choose the parts: all of them, or a sample."""
        chosen = randomness or random.Random()  # noqa: S311 - a sample, not a secret
        parts = self.parts(GROUPS_AT_ONCE, scope.check().sample)
        return TotalsRun(scope, parts, _choose(parts, scope.sample, chosen.sample))

    def parts(self, most: int, sample: float = 1.0) -> int:
        """Return how many parts to divide the groups into, with about *most* groups per part.

        A sample is at least one part.
        """
        count = self.reader.count(self.table, deadline=self.deadline())
        return max(1, ceil(count / most), ceil(1 / sample))

    def verify(self, run: TotalsRun) -> None:
        """Verify the parts that are left, until all are done or the run is stopped.

        Raises a ServiceError if AWS keeps refusing.
        """
        for part in list(run.left):
            if not self._verify_part(run, part):
                return
            run.left.remove(part)

    def deadline(self) -> Deadline:
        """Return the deadline for one page."""
        patient = Deadline.after(self.patience, self.clock)
        return patient if self.end is None or patient.at < self.end.at else self.end

    def _verify_part(self, run: TotalsRun, part: int) -> bool:
        """Verify one part; return False if it was stopped."""
        going = self.begin_pass(run, part)
        judgement = self.finish_pass(run, going) if going else None
        if going is None or judgement is None:
            return False
        run.count(going, judgement)
        for _ in range(MOST_PASSES - 1):
            undecided = set(judgement.changing)
            if not undecided:
                break
            again = TotalsPass(undecided.__contains__, self._get(undecided), self._segments(run))
            repeated = self.finish_pass(run, again) if self._wait() else None
            if repeated is None:
                return False
            judgement = repeated
            run.decide(len(undecided), judgement)
            if len(judgement.changing) == len(undecided):
                break  # they change all the time
        run.counts["changing"] += len(judgement.changing)
        return True

    def begin_pass(self, run: TotalsRun, part: int) -> TotalsPass | None:
        """Read the totals of a part, and wait for the grace period; None if it was stopped."""
        groups = groups_of(run.parts, part)
        going = TotalsPass(groups, {}, self._segments(run))
        segments = self._segments(run)

        def take(items: list[Attributes], _: int) -> None:
            for item in items:
                # An undeclared total that expires counts as deleted.
                gone = EXPIRES in item and not self.declared(group_of(item)[0])
                if groups(group_of(item)) and not gone:
                    going.before[group_of(item)] = StoredTotal.of(item)
                    self._upkeep(run, item)

        if not self._scan(self.table, segments, run.scope.segments, take, {"ConsistentRead": True}):
            return None
        return going if self._wait() else None

    def scan_rows(self, run: TotalsRun, going: TotalsPass) -> bool:
        """Add up the rows that are not read yet; return False if it was stopped."""

        def take(rows: list[Attributes], scanned: int) -> None:
            going.add(rows)
            run.scanned += scanned
            self.watch(run)

        total = run.scope.segments
        return self._scan(self.view_table, going.open, total, take, WITH_CONTRIBUTIONS)

    def finish_pass(self, run: TotalsRun, going: TotalsPass) -> Judgement | None:
        """Add up the rows, wait, and read the candidates again; None if it was stopped."""
        if not self.scan_rows(run, going):
            return None
        candidates = going.candidates
        if candidates and not self._wait():
            return None
        judgement = going.judge(self._get(candidates), self.declared)
        for group, stored in judgement.abandoned.items():
            count = stored.amounts.get(COUNT, Decimal())
            self._expire(run, expire_unused(self.table, group, count, self.now()))
        return judgement

    def _segments(self, run: TotalsRun) -> dict[int, Attributes | None]:
        return dict.fromkeys(range(run.scope.segments))

    def _get(self, groups: Collection[Group]) -> dict[Group, StoredTotal]:
        keys = [key_of_group(group) for group in groups]
        items = self.reader.get(self.table, keys, deadline=self.deadline, consistent=True)
        return {group_of(item): StoredTotal.of(item) for item in items}

    def _upkeep(self, run: TotalsRun, item: Attributes) -> None:
        """Count a forgotten empty total, and let it expire if the run repairs."""
        if request := expire_leftover(self.table, item, self.now()):
            run.counts["forgotten"] += 1
            self._expire(run, request)

    def _expire(self, run: TotalsRun, request: dict[str, Any]) -> None:
        """Let a total expire, if the run repairs."""
        if run.scope.repair:
            self.check()
            run.counts["repaired"] += expire_totals(self.client, request, self.deadline())

    def _wait(self) -> bool:
        """Wait for the grace period; return False if it was stopped."""
        until = self.clock() + self.grace
        while (left := until - self.clock()) > 0 and not self.stopped():
            self.sleep(min(left, NAP_SECONDS))
        return not self.stopped()

    def _scan(
        self,
        table: str,
        segments: dict[int, Attributes | None],  # open ones; a segment that was read is removed
        total: int,  # segments, with those that were read
        take: Callable[[list[Attributes], int], None],
        arguments: Mapping[str, Any],
    ) -> bool:
        """Read the open segments in parallel; return False if it was stopped.

        Adding a page and moving its segment past it is one step.
        """
        lock, halt = Lock(), Event()

        def read(number: int) -> None:
            try:
                while not halt.is_set() and not self.stopped():
                    start = segments[number]
                    page = self.reader.page(
                        table, (number, total), start, deadline=self.deadline, **arguments
                    )
                    with lock:
                        take(page.items, page.scanned)
                        if page.last is None:
                            del segments[number]
                            return
                        segments[number] = page.last
            except BaseException:
                halt.set()  # the other threads stop at their next page
                raise

        with ThreadPoolExecutor(max(1, min(len(segments), MAX_CONCURRENCY))) as pool:
            for future in [pool.submit(read, number) for number in list(segments)]:
                future.result()
        return not segments


def make_totals_verifier(
    registry: Registry,
    view_table: str,
    dynamodb: "DynamoDBClient",
    budget: RateLimiter | None = None,
    backoff: Backoff | None = None,
) -> TotalsVerifier:
    return TotalsVerifier(
        dynamodb,
        view_table,
        TableScanner(dynamodb, budget, backoff),
        declared=lambda partition: any(total.has(partition) for total in registry.totals),
    )


def _choose(
    parts: int, sample: float, choose: Callable[[Sequence[int], int], list[int]]
) -> list[int]:
    return sorted(choose(range(parts), max(1, round(parts * sample))))
