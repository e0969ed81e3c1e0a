"""Compare the view with its sources, both ways, while both keep changing.

Pages are read with eventually consistent reads. A difference is a candidate: most often a change in
flight. After a grace period it is rechecked with consistent reads. If it still differs, and the
item has not changed since the last check, the sync had enough time: the difference is real.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adminview.aws.concurrency import batched, map_concurrently
from adminview.aws.deadline import Deadline
from adminview.aws.table_scanner import ScanPage, TableScanner, owners_only
from adminview.bulk.segment import Segment
from adminview.bulk.task import JobResult, Task
from adminview.bulk.verify.compare_page import (
    Candidate,
    Claim,
    PageComparison,
    by_owner,
    claims,
    compare_items,
    compare_rows,
    suspect_rows,
    target_of,
)
from adminview.bulk.verify.differences import Difference
from adminview.bulk.verify.recheck import Observation, Rechecker
from adminview.bulk.verify.repair import REPAIRED, Repairer
from adminview.bulk.verify.scope import Scope, VerifyPhase
from adminview.model.row import Attributes, RowKey, key_image, key_of
from adminview.model.source import UNKNOWN
from adminview.reconcile.item_ref import ItemRef
from adminview.reconcile.reconciler import Reconciler
from adminview.sync.decode import Route

MOST_LOOKS = 5  # at an item that keeps changing
ITEMS_AT_ONCE = 100  # whose rows are in memory together
LEFT = "left"


@dataclass(frozen=True, slots=True)
class Verify(Task):
    """One phase of a verification. Its counts add up, for each source.

    items + rows = equal + in_flight + differing, and the kinds of difference = repaired + left.
    """

    phase: VerifyPhase
    routes: Mapping[str, Route]  # by source name
    view_table: str
    reader: TableScanner
    reconciler: Reconciler
    scope: Scope
    source: str | None = None  # if set, only its items or rows
    known: frozenset[RowKey | str] = frozenset()  # rows and items that the first phase reported
    check_deployed: Callable[[], object] = lambda: None  # raises if nothing may be repaired
    now: Callable[[], float] = time.time
    max_items: int = 250

    @property
    def tables(self) -> list[str]:
        """The tables that the run reads; sources by name."""
        if self.phase is VerifyPhase.ROWS:
            return [self.view_table]
        return [*self.routes] if self.source is None else [self.source]

    def read(
        self, segment: Segment, start: Attributes | None, limit: int, deadline: Deadline
    ) -> ScanPage:
        name, part = self.scope.part(self.tables, segment.number)
        if self.phase is VerifyPhase.ITEMS:
            table, only = self.routes[name].table, {}
        else:
            table, only = self.view_table, owners_only(self.source)
        return self.reader.page(table, part, start, deadline=lambda: deadline, limit=limit, **only)

    def plan(self, page: ScanPage, deadline: Deadline) -> "ComparedPage":
        """Compare a page with cheap reads."""
        comparison = PageComparison()
        if self.phase is VerifyPhase.ITEMS:
            (route,) = (route for route in self.routes.values() if route.table == page.table)
            self._compare_items(route, page.items, comparison, deadline)
        else:
            self._compare_rows(page.items, comparison, deadline)
        return ComparedPage(self, comparison)

    def plan_check(self, entries: Sequence[Any], deadline: Deadline) -> "CheckedCandidates":
        """Recheck candidates with consistent reads."""
        candidates = [Candidate.from_json(entry) for entry in entries]
        return CheckedCandidates(self, *self._settle(self._recheck(candidates, deadline)))

    def recover_intent(self, intent: Sequence[Any], deadline: Deadline) -> JobResult:
        """Repeat repairs that were not finished.

        Calls of the worker that died may still arrive, so in-doubt dead letters have the items
        checked again later.
        """
        checked = self._recheck([Candidate.from_json(entry) for entry in intent], deadline)
        result = self.repair(checked, deadline)
        by_source: dict[str, list[ItemRef]] = {}
        for candidate, _ in checked:
            if target := target_of(self.routes, candidate.owner, candidate.rows):
                by_source.setdefault(candidate.source, []).append(target)
        for targets in by_source.values():
            self.reconciler.report_in_doubt(targets, deadline)
        return result

    def repair(self, checked: Iterable["Checked"], deadline: Deadline) -> JobResult:
        """Repair the differences of candidates, each on its own."""
        repairer = Repairer(self.routes, self.reconciler, deadline)
        result = JobResult(Counter())

        def repair(entry: Checked) -> dict[Difference, str]:
            new = self._new(entry[1])
            if new:
                self.check_deployed()
            return repairer.repair(new, removable=self.scope.removable) if new else {}

        entries = list(checked)
        for (candidate, _), outcomes in zip(
            entries, map_concurrently(repair, entries), strict=True
        ):
            count(result, candidate, outcomes)
        return result

    def later(self, candidates: Iterable[Candidate]) -> list[Any]:
        """Return entries for a check after the grace period."""
        due = self.now() + self.scope.grace
        return [[due, candidate.to_json()] for candidate in candidates]

    def _settle(self, checked: Iterable["Checked"]) -> tuple[JobResult, list["Checked"]]:
        """Clear, defer or confirm candidates; also return those that must be repaired."""
        result, repairs = JobResult(Counter()), []
        for candidate, observation in checked:
            if not observation.differences:
                result.counts[f"{candidate.source}/in_flight"] += candidate.weight
            elif observation.digest != candidate.digest and candidate.looks + 1 < MOST_LOOKS:
                again = replace(candidate, digest=observation.digest, looks=candidate.looks + 1)
                result.later.extend(self.later([again]))
            elif self.scope.repair:
                repairs.append((candidate, observation))
            else:
                count(result, candidate, dict.fromkeys(self._new(observation), LEFT))
        return result, repairs

    def _new(self, observation: Observation) -> list[Difference]:
        """Return the differences that the first phase has not reported.

        A row that another item should have is also an orphan of its owner: one difference.
        """
        return [
            difference
            for difference in observation.differences
            if (difference.row or difference.owner) not in self.known
        ]

    def _recheck(self, candidates: Sequence[Candidate], deadline: Deadline) -> list["Checked"]:
        rechecker = Rechecker(self.routes, self.reconciler, deadline)
        observations = map_concurrently(rechecker.recheck, candidates)
        return list(zip(candidates, observations, strict=True))

    def _compare_items(
        self,
        route: Route,
        items: Sequence[Attributes],
        comparison: PageComparison,
        deadline: Deadline,
    ) -> None:
        """Compare items of a source with the rows that they should have."""
        name, model = route.source.name, self.reconciler.model
        comparison.counts[name]["items"] += len(items)
        for batch in batched(items, ITEMS_AT_ONCE):
            derived = claims(route, batch, self.now(), model, comparison)
            keys = dict.fromkeys(key for claim in derived for key in claim.rows or ())
            images = [key_image(key) for key in keys]
            read = self.reader.get(self.view_table, images, deadline=lambda: deadline)
            compare_items(name, derived, {key_of(row): row for row in read}, comparison)

    def _compare_rows(
        self, rows: Sequence[Attributes], comparison: PageComparison, deadline: Deadline
    ) -> None:
        """Compare rows of the view with the items that they name."""
        owned: list[ItemRef] = []
        for owner, keys in by_owner(rows).items():
            if target := target_of(self.routes, owner, keys):
                owned.append(target)
            else:
                name = owner.partition("/")[0]
                suspect_rows(name if name in self.routes else UNKNOWN, owner, keys, comparison)
        for targets in self._shares(owned):
            derived = self._claims(targets, deadline)
            for target in targets:
                compare_rows(target, derived, target.rows, comparison)

    def _shares(self, targets: Sequence[ItemRef]) -> Iterator[Sequence[ItemRef]]:
        """Batch targets by source, each batch small enough for memory."""
        for route in self.routes.values():
            yield from batched(
                [target for target in targets if target.route is route], ITEMS_AT_ONCE
            )

    def _claims(self, targets: Sequence[ItemRef], deadline: Deadline) -> dict[str, Claim]:
        route = targets[0].route
        keys = [target.key for target in targets]
        items = self.reader.get(route.table, keys, deadline=lambda: deadline)
        derived = claims(route, items, self.now(), self.reconciler.model, PageComparison())
        return {claim.owner: claim for claim in derived}


Checked = tuple[Candidate, Observation]


@dataclass(frozen=True, slots=True)
class ComparedPage:
    """The comparison of a page. It has nothing to write."""

    task: Verify
    comparison: PageComparison

    @property
    def intent(self) -> list[Any]:
        return []

    def execute(self, deadline: Deadline) -> JobResult:  # noqa: ARG002 - makes no call
        compared = self.comparison
        counts = Counter(
            {
                f"{source}/{name}": number
                for source, counts in compared.counts.items()
                for name, number in counts.items()
            }
        )
        result = JobResult(counts, self.task.later(compared.candidates))
        for failure in compared.failures:
            add(result, {failure: failure.what})
        return result


@dataclass(frozen=True, slots=True)
class CheckedCandidates:
    """The rechecks of some candidates, and the repairs that follow."""

    task: Verify
    checked: JobResult
    repairs: Sequence[Checked]

    @property
    def intent(self) -> list[Any]:
        """Return the candidates to repair."""
        return [candidate.to_json() for candidate, _ in self.repairs]

    def execute(self, deadline: Deadline) -> JobResult:
        return self.task.repair(self.repairs, deadline)


def count(result: JobResult, candidate: Candidate, outcomes: Mapping[Difference, str]) -> None:
    """Add a confirmed candidate and the outcomes of its differences to a result."""
    result.counts[f"{candidate.source}/differing"] += candidate.weight
    add(result, outcomes)


def add(result: JobResult, outcomes: Mapping[Difference, str]) -> None:
    for difference, outcome in outcomes.items():
        result.counts[f"{difference.source}/{difference.kind.value}"] += 1
        result.counts[f"{difference.source}/{REPAIRED if outcome == REPAIRED else LEFT}"] += 1
        result.findings.append(difference.to_json() | {"fate": outcome})
