"""Delete the rows that no view derives any more after a change of the model.

Neither the age nor the fingerprint of a row identifies them. A row whose content did not change
keeps its old fingerprint, and a rolled-back model leaves rows behind. So the items of all rows are
read. If an item does not derive a row, the item is reconciled, which deletes the row if that is
still true.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import time
from typing import Any

from adminview.aws.concurrency import map_concurrently
from adminview.aws.dead_letter_producer import DeadLetterSink
from adminview.aws.deadline import Deadline
from adminview.aws.table_scanner import ScanPage, TableScanner, owners_only
from adminview.bulk.failures import Failures
from adminview.bulk.segment import Segment
from adminview.bulk.task import JobResult, Task
from adminview.bulk.verify.compare_page import by_owner
from adminview.model.errors import RecordError
from adminview.model.limits import ROW_LIMIT
from adminview.model.row import Attributes, RowKey
from adminview.reconcile.item_ref import ItemRef, target_by_owner
from adminview.reconcile.reconciler import Reconciler
from adminview.sync.decode import Route
from adminview.sync.derive import derive

Candidate = tuple[str, list[RowKey]]  # an owner, and its rows


@dataclass(frozen=True, slots=True)
class Sweep(Task):
    routes: Mapping[str, Route]  # by source name
    view_table: str
    reader: TableScanner
    reconciler: Reconciler
    post: DeadLetterSink
    source: str | None = None  # if set, only its rows
    now: Callable[[], float] = time
    max_items: int = 250  # a whole page may have to be reconciled during one lease

    def read(
        self, segment: Segment, start: Attributes | None, limit: int, deadline: Deadline
    ) -> ScanPage:
        only = owners_only(self.source)
        return self.reader.page(
            self.view_table, segment.part, start, deadline=lambda: deadline, limit=limit, **only
        )

    def plan(self, page: ScanPage, deadline: Deadline) -> "PageOfRows":
        """Find the rows of a page that their items do not derive."""
        candidates: list[Candidate] = []
        targets: dict[str, list[ItemRef]] = {}
        for owner, rows in by_owner(page.items).items():
            if target := target_by_owner(self.routes.values(), owner, rows):
                targets.setdefault(target.route.source.name, []).append(target)
            elif owner and self._is_undeclared(owner):
                candidates.append((owner, sorted(rows)))
        unjudged: list[ItemRef] = []
        for refs in targets.values():
            candidates += self._underived(refs, unjudged, deadline)
        return PageOfRows(self, candidates, len(unjudged))

    def recover_intent(self, intent: Sequence[Any], deadline: Deadline) -> JobResult:
        """Reconcile the items of a page that was not finished.

        Calls of the worker that died may still arrive, so in-doubt dead letters have the items
        checked again later.
        """
        counts = self.reconcile(intent, deadline)
        by_source: dict[str, list[ItemRef]] = {}
        for owner, rows in intent:
            keys = [(pk, sk) for pk, sk in rows]
            if target := target_by_owner(self.routes.values(), owner, keys):
                by_source.setdefault(target.route.source.name, []).append(target)
        for targets in by_source.values():
            self.reconciler.report_in_doubt(targets, deadline)
        return JobResult(counts)

    def reconcile(self, candidates: Sequence[Any], deadline: Deadline) -> Counter[str]:
        """Reconcile the owners of candidate rows; dead-letter those that fail."""
        failures = Failures(self.post, self.reconciler.model, self.now)

        def reconcile(candidate: Any) -> Counter[str]:
            owner, rows = candidate
            return self._reconcile(owner, [(pk, sk) for pk, sk in rows], failures, deadline)

        counts = sum(map_concurrently(reconcile, candidates), Counter[str]())
        counts["failed"] += failures.send(deadline)
        return counts

    def _is_undeclared(self, owner: str) -> bool:
        """Return whether no view file declares the source of an owner."""
        return owner.partition("/")[0] not in self.routes

    def _underived(
        self, targets: Sequence[ItemRef], unjudged: list[ItemRef], deadline: Deadline
    ) -> list[Candidate]:
        """Find the rows that items of one source do not derive; add failing items to *unjudged*."""
        route = targets[0].route
        keys = [target.key for target in targets]
        items = self.reader.get(route.table, keys, deadline=lambda: deadline)
        current = {route.source.owner(item): item for item in items}
        candidates = []
        for target in targets:
            try:
                derived = derive(route.views, current.get(target.owner), room=ROW_LIMIT).rows
            except RecordError:
                unjudged.append(target)  # its rows are unknown: keep them
                continue
            if left := sorted(target.rows - derived.keys()):
                candidates.append((target.owner, left))
        return candidates

    def _reconcile(
        self, owner: str, rows: Sequence[RowKey], failures: Failures, deadline: Deadline
    ) -> Counter[str]:
        if self._is_undeclared(owner):
            deleted = [self.reconciler.rows.delete(owner, row, deadline=deadline) for row in rows]
            return Counter(deleted=sum(deleted))
        target = target_by_owner(self.routes.values(), owner, rows)
        if target is None:
            return Counter()
        with failures.of(target):
            done = self.reconciler.reconcile(target, deadline=deadline)
            return Counter(rows=done.put, deleted=done.deleted)
        return Counter()


@dataclass(frozen=True, slots=True)
class PageOfRows:
    """The rows of a page that their items do not seem to derive."""

    task: Sweep
    candidates: Sequence[Candidate]
    unjudged: int = 0  # items whose views raise

    @property
    def intent(self) -> list[Any]:
        return list(self.candidates)

    def execute(self, deadline: Deadline) -> JobResult:
        counts = self.task.reconcile(self.candidates, deadline)
        return JobResult(counts + Counter(unjudged=self.unjudged))
