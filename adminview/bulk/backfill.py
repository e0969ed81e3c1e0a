"""Backfill the view from a source, one page of items at a time.

Rows are written in batches, without conditions, from scanned items that may be out of date by then.
So the items are read again, consistently, and those that changed are reconciled. Rows that are
already correct are not written: a second run changes nothing.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from adminview.aws.concurrency import map_concurrently
from adminview.aws.dead_letter_producer import DeadLetterSink
from adminview.aws.deadline import Deadline
from adminview.aws.table_scanner import ScanPage, TableScanner
from adminview.aws.view_table import ViewTable, WriteOutcome
from adminview.bulk.failures import Failures
from adminview.bulk.segment import Segment
from adminview.bulk.task import JobResult, PageTooLargeError, Task
from adminview.model.errors import OwnershipError, RefusedRowError, ServiceError
from adminview.model.item import AttributeValue, Image
from adminview.model.json_codec import dump_json
from adminview.model.row import OWNER, Attributes, RowKey, key_image, key_of
from adminview.reconcile.equality import equivalent, equivalent_rows
from adminview.reconcile.expected_rows import expected_rows
from adminview.reconcile.item_ref import ItemRef
from adminview.reconcile.reconciler import CLAIMED_TWICE, Reconciler
from adminview.sync.decode import Route
from adminview.sync.fold import Fold

# Approximate memory for the rows of a page; as much again is read from the view.
PAGE_BYTES = 64 * 1024 * 1024
ROW_BYTES = 2048  # of a row, in addition to its share of the item

Key = dict[str, AttributeValue]
Rows = dict[RowKey, Attributes]


@dataclass(frozen=True, slots=True)
class Backfill(Task):
    route: Route
    reader: TableScanner
    view: ViewTable
    view_table: str
    reconciler: Reconciler
    post: DeadLetterSink
    now: Callable[[], float] = time.time
    max_items: int = 250

    def read(
        self, segment: Segment, start: Attributes | None, limit: int, deadline: Deadline
    ) -> ScanPage:
        table = self.route.table
        return self.reader.page(table, segment.part, start, deadline=lambda: deadline, limit=limit)

    def plan(self, page: ScanPage, deadline: Deadline) -> "PageOfItems":
        """Derive the rows of a page's items and compare them with the view."""
        job = PageOfItems(self)
        derived: list[tuple[Attributes, Rows]] = []
        size = 0
        for item in page.items:
            if (rows := job.derive(item)) is not None:
                derived.append((item, rows))
                size += len(rows) * (ROW_BYTES + len(dump_json(item)))
            if size > PAGE_BYTES and len(page.items) > 1:
                raise PageTooLargeError
        keys = {key for _, rows in derived for key in rows}
        current = self.rows_at(keys, deadline)
        for item, rows in derived:
            job.add(item, rows, current)
        return job

    def recover_intent(self, intent: Sequence[Any], deadline: Deadline) -> JobResult:
        """Reconcile the items of a page that was not finished.

        Calls of the worker that died may still arrive, so in-doubt dead letters have the items
        checked again later.
        """
        failures = self.failures()
        counts = self.reconcile([(key, ()) for key in intent], failures, deadline)
        self.reconciler.report_in_doubt([ItemRef(self.route, key) for key in intent], deadline)
        counts["failed"] += failures.send(deadline)
        return JobResult(counts)

    def rows_at(self, keys: Iterable[RowKey], deadline: Deadline) -> Rows:
        """Read rows consistently; missing ones are absent from the result."""
        images = [key_image(key) for key in sorted(keys)]
        rows = self.reader.get(self.view_table, images, deadline=lambda: deadline, consistent=True)
        return {key_of(row): row for row in rows}

    def reconcile(
        self,
        items: Iterable[tuple[Key, Iterable[RowKey]]],
        failures: Failures,
        deadline: Deadline,
    ) -> Counter[str]:
        """Reconcile items concurrently, each with the rows it may have left behind."""

        def reconcile(target: ItemRef) -> Counter[str]:
            with failures.of(target):
                done = self.reconciler.reconcile(target, deadline=deadline)
                return Counter(rows=done.put, deleted=done.deleted)
            return Counter()

        targets = [ItemRef(self.route, key, frozenset(rows)) for key, rows in items]
        return sum(map_concurrently(reconcile, targets), Counter[str]())

    def failures(self) -> Failures:
        return Failures(self.post, self.reconciler.model, self.now)


@dataclass(slots=True)
class PageOfItems:
    """The items of a page that have rows to write."""

    task: Backfill
    items: list[Image] = field(default_factory=list)
    writes: Fold = field(default_factory=Fold)
    right: int = 0  # rows that are already correct
    failures: Failures = field(init=False)

    def __post_init__(self) -> None:
        self.failures = self.task.failures()

    @property
    def intent(self) -> list[Any]:
        """Return the keys of the items whose rows are written."""
        return [self._key(item) for item in self.items]

    def derive(self, item: Image) -> Rows | None:
        """Derive the rows of an item; on failure, dead-letter the item and return None."""
        task = self.task
        target = ItemRef(task.route, self._key(item))
        with self.failures.of(target):
            return expected_rows(task.route, target.owner, item, task.now(), task.reconciler.model)
        return None

    def add(self, item: Image, rows: Rows, current: Rows) -> None:
        """Add the rows of an item that are missing or wrong."""
        target = ItemRef(self.task.route, self._key(item))
        owner = {"S": target.owner}
        with self.failures.of(target):
            if any(current[key].get(OWNER, owner) != owner for key in rows.keys() & current.keys()):
                raise OwnershipError(CLAIMED_TWICE)
            puts = {
                key: dump_json(row)
                for key, row in rows.items()
                if key not in current or not equivalent_rows(current[key], row)
            }
            self.writes.add(len(self.items), target.owner, puts)
            self.right += len(rows) - len(puts)
            if puts:
                self.items.append(item)

    def execute(self, deadline: Deadline) -> JobResult:
        """Write the rows, reconcile items that changed meanwhile, then send dead letters."""
        outcome = self.task.view.write(self.writes, deadline=deadline)
        self._report_in_doubt(outcome, deadline)
        if outcome.unwritten:
            code = min(outcome.errors, default="OutOfTime")
            raise ServiceError(code, f"write rows of {self.task.view_table}")
        changed = self._changed_items(deadline)
        counts = Counter(rows=outcome.written, right=self.right, changed=len(changed))
        counts += self.task.reconcile(changed, self.failures, deadline)
        self._refuse(outcome)
        counts["failed"] += self.failures.send(deadline)
        return JobResult(counts)

    def _changed_items(self, deadline: Deadline) -> list[tuple[Key, list[RowKey]]]:
        """Find the items that changed since they were scanned, with the rows written for them."""
        task, keys = self.task, self.intent
        now = task.reader.get(task.route.table, keys, deadline=lambda: deadline, consistent=True)
        items = {task.route.source.owner(item): item for item in now}
        owners = [task.route.source.owner(item) for item in self.items]
        return [
            (key, [write.key for write in self.writes if write.owner == owner])
            for key, owner, item in zip(keys, owners, self.items, strict=True)
            if not equivalent(item, items.get(owner))
        ]

    def _report_in_doubt(self, outcome: WriteOutcome, deadline: Deadline) -> None:
        """Send in-doubt dead letters about rows that a call without a response may still write."""
        rows: dict[int, list[RowKey]] = {}
        for write in self.writes:
            if write.key in outcome.in_doubt:
                rows.setdefault(write.first, []).append(write.key)
        if rows:
            targets = [
                ItemRef(self.task.route, self._key(self.items[position]), frozenset(keys))
                for position, keys in rows.items()
            ]
            self.task.reconciler.report_in_doubt(targets, deadline)
        self.task.reconciler.report_calls(outcome.earlier_in_doubt, deadline)

    def _refuse(self, outcome: WriteOutcome) -> None:
        """Dead-letter the items whose rows DynamoDB refused."""
        for position, code in {write.first: code for write, code in outcome.refused}.items():
            target = ItemRef(self.task.route, self._key(self.items[position]))
            rows = [write.key for write in self.writes if write.owner == target.owner]
            msg = f"DynamoDB refused a row of this item: {code}"
            self.failures.add(target, RefusedRowError(msg), rows)

    def _key(self, item: Image) -> Key:
        return self.task.route.source.key_of(item)
