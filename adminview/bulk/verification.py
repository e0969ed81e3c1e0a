"""A verification: two runs, one after the other, and the report of both.

The second phase needs the first: only after no item misses a row without an owner, that row belongs
to no item. And a difference that the first phase has reported is not reported again.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from adminview.aws.deadline import Deadline
from adminview.bulk.lease_table import GENERATION, OVERTAKEN
from adminview.bulk.runs import DAILY, EVERYTHING, ROWS, SCOPE, VERIFY, Bulk, added_up
from adminview.bulk.verify.differences import Kind
from adminview.bulk.verify.scope import Scope
from adminview.model.errors import BulkError


@dataclass(slots=True)
class VerifyReport:
    """The counts and findings of a verification, finished or not."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)  # by source
    findings: list[Any] = field(default_factory=list)
    waiting: int = 0  # scanned items and rows that wait for a recheck

    @property
    def total(self) -> Counter[str]:
        return sum(self.counts.values(), Counter[str]())

    def add(self, counts: Counter[str], findings: Iterable[Any]) -> None:
        """Add the counts of a run. Those without a source are its progress."""
        for key, number in counts.items():
            source, slash, name = key.rpartition("/")
            if slash:
                self.counts.setdefault(source, Counter())[name] += number
        self.findings += findings


@dataclass(frozen=True, slots=True)
class Verification:
    bulk: Bulk
    subject: str = EVERYTHING  # or a source
    daily: bool = False

    @property
    def runs(self) -> tuple[str, str]:
        """Return the runs of both phases."""
        kind = f"{DAILY if self.daily else ''}{VERIFY}"
        return self.bulk.run(kind, self.subject), self.bulk.run(f"{kind}{ROWS}", self.subject)

    def left(self, scope: Scope, *, deadline: Deadline, restart: bool = False) -> list[str]:
        """Return the runs to execute: without the first if it has finished and the second not."""
        first, second = self.runs
        done, progress = self._completion(first, deadline), self.bulk.progress
        after = progress.completion(second, deadline=deadline).get(SCOPE, {}).get("after")
        resumes = (
            not restart
            and done is not None
            and done[GENERATION] != after
            and not scope.unlike(done[SCOPE])
        )
        return [second] if resumes else [first, second]

    def scope_of(self, run: str, scope: Scope, *, deadline: Deadline) -> Scope:
        """Return the scope of a run; raise a BulkError if the second phase cannot begin."""
        first, second = self.runs
        if run != second:
            return scope
        done = self._completion(first, deadline)
        if done is None:
            raise BulkError(OVERTAKEN.format(run=first))
        whole = self.subject == EVERYTHING and scope.sample == 1
        failing = any(key.endswith(f"/{Kind.FAILING}") for key in done["counts"])
        return scope.follows(done[GENERATION], removable=whole and not failing)

    def report(self, *, deadline: Deadline) -> VerifyReport:
        """Report the last verification, as far as it is."""
        report, progress = VerifyReport(), self.bulk.progress
        first, second = self.runs
        generation = progress.begun(first, deadline=deadline)[GENERATION]
        for run in (first, second):
            begun = progress.begun(run, deadline=deadline)
            if run == second and begun.get(SCOPE, {}).get("after") != generation:
                break  # it has not begun
            if done := self._completion(run, deadline):
                found = progress.findings(run, done[GENERATION], deadline=deadline)
                report.add(Counter(done["counts"]), found)
                continue
            records = progress.records(run, deadline=deadline)
            records = [one for one in records if one.segment.generation == begun[GENERATION]]
            report.add(added_up(records), [one for record in records for one in record.findings])
            report.waiting += sum(
                entry["weight"] for record in records for _, entry in record.waiting
            )
        return report

    def _completion(self, run: str, deadline: Deadline) -> dict[str, Any] | None:
        """Return the completion of a run if it is of this model and nothing has begun since."""
        done = self.bulk.progress.completion(run, deadline=deadline)
        begun = self.bulk.progress.begun(run, deadline=deadline)
        current = done.get("model") == self.bulk.model and SCOPE in done
        return done if current and done[GENERATION] == begun[GENERATION] else None
