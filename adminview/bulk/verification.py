"""A verification: a chain of runs, one after the other, and the report of all.

Each phase needs the result of the one before it. The rows phase may delete a row without an owner
only if the items phase found no item that derives it, and it does not report a difference twice.
The totals are compared with the sums after both were read.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from adminview.aws.deadline import Deadline
from adminview.bulk.lease_table import GENERATION, OVERTAKEN
from adminview.bulk.runs import EVERYTHING, SCOPE, VERIFY, Bulk, added_up
from adminview.bulk.verify.differences import Kind
from adminview.bulk.verify.phases import CHAINS, DAILY
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
    kind: str = VERIFY  # or VERIFY_TOTALS

    @property
    def runs(self) -> list[str]:
        """Return the runs of all phases."""
        kind = f"{DAILY if self.daily else ''}{self.kind}"
        return [self.bulk.run(f"{kind}{suffix}", self.subject) for suffix in CHAINS[self.kind]]

    def left(self, scope: Scope, *, deadline: Deadline, restart: bool = False) -> list[str]:
        """Return the runs to execute: without those that have finished, unless all have."""
        runs, after = self.runs, 0
        for place, run in enumerate(runs):
            done = None if restart else self._completion(run, deadline)
            if done is None or done[SCOPE]["after"] != after or scope.unlike(done[SCOPE]):
                return runs[place:]
            after = done[GENERATION]
        return runs

    def scope_of(self, run: str, scope: Scope, *, deadline: Deadline) -> Scope:
        """Return the scope of a run; raise a BulkError if its phase cannot begin."""
        place = self.runs.index(run)
        if not place:
            return scope
        before = self.runs[place - 1]
        done = self._completion(before, deadline)
        if done is None:
            raise BulkError(OVERTAKEN.format(run=before))
        whole = self.subject == EVERYTHING and scope.sample == 1
        failing = any(key.endswith(f"/{Kind.FAILING}") for key in done["counts"])
        return scope.follows(done[GENERATION], removable=whole and not failing)

    def report(self, *, deadline: Deadline) -> VerifyReport:
        """Report the last verification, as far as it is."""
        report, progress, after = VerifyReport(), self.bulk.progress, None
        for run in self.runs:
            begun = progress.begun(run, deadline=deadline)
            if after is not None and begun.get(SCOPE, {}).get("after") != after:
                break  # it has not begun
            after = begun[GENERATION]
            if done := self._completion(run, deadline):
                findings = progress.findings(run, done[GENERATION], deadline=deadline)
                report.add(Counter(done["counts"]), findings)
                continue
            records = progress.records(run, deadline=deadline)
            records = [record for record in records if record.segment.generation == after]
            report.add(
                added_up(records), [finding for record in records for finding in record.findings]
            )
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
