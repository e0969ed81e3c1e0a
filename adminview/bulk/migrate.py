"""Migrate a source table: complete the items of a page, each only if it has not changed.

Pages need no intent: the updates are conditional, so repeating a page changes nothing, and a
deleted item stays deleted.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from adminview.aws.concurrency import map_concurrently
from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff
from adminview.aws.source_tables import SourceReader
from adminview.aws.source_updates import SourceUpdates
from adminview.aws.table_scanner import ScanPage, TableScanner
from adminview.bulk.segment import Segment
from adminview.bulk.task import JobResult, Task
from adminview.model.errors import RecordError
from adminview.model.migration import Migration, Update
from adminview.model.row import Attributes
from adminview.sync.derive import complete

ROUNDS = 10  # while other writers change the item; then it is left to the next run

# Outcomes of an item.
UPDATED = "updated"
RIGHT = "right"  # complete already, or the migration does not apply
GONE = "gone"  # deleted before it could be updated
MOVED = "moved"  # it kept changing: not migrated yet
FAILED = "failed"  # the migration raises, or DynamoDB refuses the update


@dataclass(frozen=True, slots=True)
class Migrate(Task):
    migration: Migration
    table: str
    reader: TableScanner
    sources: SourceReader
    updates: SourceUpdates
    report_error: Callable[[Attributes, RecordError], object] = lambda *_: None
    backoff: Backoff = field(default_factory=Backoff)
    max_items: int = 250

    def read(
        self, segment: Segment, start: Attributes | None, limit: int, deadline: Deadline
    ) -> ScanPage:
        return self.reader.page(
            self.table, segment.part, start, deadline=lambda: deadline, limit=limit
        )

    def plan(self, page: ScanPage, deadline: Deadline) -> "PageOfUpdates":  # noqa: ARG002 - makes no call
        job = PageOfUpdates(self)
        for item in page.items:
            job.add(item)
        return job

    def recover_intent(self, intent: Sequence[Any], deadline: Deadline) -> JobResult:  # noqa: ARG002 - see above
        """Do nothing: pages have no intent."""
        return JobResult(Counter())

    def update(self, update: Update, deadline: Deadline) -> str:
        """Write an update, recomputed while the item keeps changing; return the outcome."""
        for attempt in range(ROUNDS):
            if self.updates.write(self.table, update, deadline=deadline):
                return UPDATED
            if attempt:
                self.backoff.pause(attempt, deadline)
            now = self.sources.read(self.table, update.key, deadline=deadline)
            if now is None:
                return GONE
            again = complete(self.migration, now)
            if again is None:
                return RIGHT
            update = again
        return MOVED


@dataclass(slots=True)
class PageOfUpdates:
    task: Migrate
    updates: list[Update] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def intent(self) -> list[Any]:
        return []

    def add(self, item: Attributes) -> None:
        """Add the update of an item, or count it as complete or failed."""
        try:
            update = complete(self.task.migration, item)
        except RecordError as error:
            self._fail(item, error)
        else:
            if update:
                self.updates.append(update)
            else:
                self.counts[RIGHT] += 1

    def execute(self, deadline: Deadline) -> JobResult:
        """Write the updates concurrently and return the counts."""

        def write(update: Update) -> str | RecordError:
            try:
                return self.task.update(update, deadline)
            except RecordError as error:
                return error

        outcomes = map_concurrently(write, self.updates)
        for update, outcome in zip(self.updates, outcomes, strict=True):
            if isinstance(outcome, str):
                self.counts[outcome] += 1
            else:
                self._fail(update.key, outcome)
        return JobResult(self.counts)

    def _fail(self, item: Attributes, error: RecordError) -> None:
        key = {attribute.name: item[attribute.name] for attribute in self.task.migration.source.key}
        self.counts[FAILED] += 1
        self.task.report_error(key, error)
