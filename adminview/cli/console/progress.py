"""Read the progress of bulk work, and what a plan still has to do, from the progress table."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from time import time
from typing import Any, Final

from adminview.aws.deadline import Deadline
from adminview.bulk.completions import (
    LEFTOVERS,
    NO_TABLE,
    Completions,
    markers,
    stale_attributes,
)
from adminview.bulk.lease_table import LeaseTable
from adminview.bulk.runs import added_up
from adminview.bulk.verify.phases import phase_of
from adminview.bulk.verify.scope import VerifyPhase
from adminview.cli.planning.record import AppliedSteps, PlanRecord
from adminview.http_api.operations.status import (
    ApplyProgress,
    CompletedRun,
    ProgressFacts,
    RunProgress,
)
from adminview.model import Registry
from adminview.model.errors import ServiceError

SECONDS: Final = 10.0
NO_PROGRESS: Final = "there is no progress table: nothing was backfilled or verified yet"


@dataclass(frozen=True, slots=True)
class ProgressReader:
    """Reads the progress table of one view."""

    registry: Registry
    table: LeaseTable
    pending: Mapping[str, str | None] = field(default_factory=dict)
    now: Callable[[], float] = time

    def read(self) -> ProgressFacts:
        """Return the runs in progress, the completed ones, and the remaining steps of a plan."""
        deadline = Deadline.after(SECONDS)
        try:
            completions = self.table.completions(deadline=deadline)
            runs = [*self._runs(deadline)]
            applied = PlanRecord(self.table.client, self.table.name).read()
        except ServiceError as error:
            if error.code != NO_TABLE:
                raise
            return ProgressFacts(reason=NO_PROGRESS, pending=sorted(self.pending))
        model, code = self.registry.fingerprint, self.registry.description()["code"]
        built = markers(completions)
        sources = [source.name for source in self.registry.sources]
        return ProgressFacts(
            runs=runs,
            completed=[*_completed(completions, code)],
            unbuilt=[
                name for name in sources if name not in built or built[name].code != code[name]
            ],
            stale=[name for name in sources if stale_attributes(completions, name, model)],
            pending=sorted(self.pending),
            apply=None if applied is None else _apply_progress(applied),
        )

    def verifications(self) -> Completions:
        """Return the completed verifications, by run; none if there is no progress table."""
        try:
            completions = self.table.completions(deadline=Deadline.after(SECONDS))
        except ServiceError as error:
            if error.code != NO_TABLE:
                raise
            return {}
        return {run: facts for run, facts in completions.items() if is_verification(run)}

    def _runs(self, deadline: Deadline) -> Iterator[RunProgress]:
        """Yield the runs that have states: those of a completed run are deleted."""
        for run in self.table.runs_begun(deadline=deadline):
            states = self.table.records(run, deadline=deadline)
            if not states:
                continue
            last = max(state.segment.generation for state in states)
            current = [state for state in states if state.segment.generation == last]
            lease = max(state.deadline for state in current)
            yield RunProgress(
                run=run,
                done=sum(state.done for state in current),
                of=max(state.segment.of for state in current),
                counts=_counts(added_up(current)),
                running=lease > self.now(),
                model=current[0].model,
                lease_until=lease if lease > self.now() else None,
            )


def _apply_progress(applied: AppliedSteps) -> ApplyProgress:
    return ApplyProgress(
        state=applied.state,
        model=applied.model,
        done=applied.done,
        remaining=applied.remaining,
        started=applied.started,
        at=applied.at,
    )


def is_verification(run: str) -> bool:
    """Return whether a run verifies items or rows, by hand or by schedule."""
    return phase_of(run) in {VerifyPhase.ITEMS, VerifyPhase.ROWS}


def _completed(completions: Completions, code: Mapping[str, str]) -> Iterator[CompletedRun]:
    for run, facts in sorted(completions.items()):
        kind, _, subject = run.partition("/")
        if kind == LEFTOVERS:
            continue
        # A model change invalidates a completion: it then has no model.
        current = bool(facts.get("model")) and facts.get("code") in (None, code.get(subject))
        at = facts.get("at")
        yield CompletedRun(
            run=run,
            at=float(at) if isinstance(at, int | float) else None,
            model=str(facts["model"]) if facts.get("model") else None,
            counts=_counts(facts.get("counts", {})),
            current=current,
        )


def _counts(counts: Mapping[str, Any]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if isinstance(count, int) and count >= 0}
