"""Apply a plan: carry out its first step, read the deployment again, and plan the rest.

So a run can stop at any step and continue on any machine, also after a crash or after another
deployment.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from adminview.aws.table_description import DELETING
from adminview.bulk.builds import PLAN, Builds
from adminview.bulk.completions import NO_TABLE, CompletionMarkers
from adminview.bulk.runs import BACKFILL, EVERYTHING, SWEEP, Bulk
from adminview.cli.bulk.segment_pool import SegmentOutcome
from adminview.cli.deployment.facts import Deployed
from adminview.cli.model_lock.model_diff import Description
from adminview.cli.planning.planner import LONGEST_WRITE, make_plan
from adminview.cli.planning.record import DONE, FAILED, RUNNING, STOPPED
from adminview.cli.planning.refusals import in_use
from adminview.cli.planning.steps import (
    AwaitIndex,
    BackfillStep,
    CreateIndex,
    DeployApi,
    DeployCode,
    DropIndex,
    Phase,
    Plan,
    Step,
    SweepStep,
    Wait,
    WarmUp,
)
from adminview.model.errors import AdminViewError, ServiceError

NAP_SECONDS = 5.0  # the longest sleep, so that a stop is noticed soon


class PlanError(AdminViewError):
    """A plan cannot be applied, or a step failed; completed steps stay."""


class Deployer(Protocol):
    """Changes the stacks."""

    def deploy(self, stacks: Sequence[str], phase: Phase) -> None:
        """Deploy only these stacks; raise PlanError if that fails."""

    def await_index(self, name: str, *, gone: bool, stopped: Callable[[], bool]) -> None:
        """Wait until an index is active (deleted, if *gone*), or until *stopped* returns true."""

    def warm_up(self, step: WarmUp, *, stopped: Callable[[], bool]) -> None:
        """Raise the warm throughput, and wait until it is, or until *stopped* returns true."""

    def await_totals(self, *, stopped: Callable[[], bool]) -> None:
        """Wait until the totals include all rows, or until *stopped* returns true."""


class Builder(Protocol):
    """Backfills and sweeps; both return why they did not complete, or ""."""

    def invalidate(self, step: DeployCode) -> None:
        """Invalidate the completion markers of the sources that new code makes unbuilt."""

    def record(self) -> None:
        """Record that the declared model is deployed, and that the plan builds its rows."""

    def complete(self, pending: Collection[str]) -> None:
        """Record that the rows of all access patterns but the *pending* ones are complete."""

    def backfill(self, source: str) -> str:
        """Derive all rows of a source again."""

    def sweep(self, sources: Sequence[str]) -> str:
        """Delete the rows that no view derives any more."""


@dataclass(frozen=True, slots=True)
class BulkBuilder:
    """A Builder that runs locally."""

    connect: Callable[[], Bulk]  # for each run, because the steps change the deployment
    progress: CompletionMarkers
    model: Description  # the declared one
    go: Callable[[Bulk, str], SegmentOutcome]
    check: Callable[[Sequence[str]], None] = lambda _: None  # raises if a stream is not read

    def invalidate(self, step: DeployCode) -> None:
        model = self.model["fingerprint"]
        self.progress.invalidate(step.unbuilt, step.leftovers, step.attributes, model=model)

    def record(self) -> None:
        with _table_may_be_absent():
            self._builds.deployed(PLAN)

    def complete(self, pending: Collection[str]) -> None:
        names = [shape["name"] for shape in self.model["patterns"]]
        with _table_may_be_absent():
            self._builds.complete(name for name in names if name not in pending)

    @property
    def _builds(self) -> Builds:
        return Builds(self.progress.table, self.model, self.progress.now)

    def backfill(self, source: str) -> str:
        bulk = self.connect()
        self.check([source])
        return self.go(bulk, bulk.run(BACKFILL, source)).trouble

    def sweep(self, sources: Sequence[str]) -> str:
        bulk = self.connect()
        known = {source.name for source in bulk.registry.sources}
        # One scan of the view costs less than one per source.
        subject = sources[0] if len(sources) == 1 and sources[0] in known else EVERYTHING
        return self.go(bulk, bulk.run(SWEEP, subject)).trouble


@contextmanager
def _table_may_be_absent() -> Iterator[None]:
    """Ignore that there is no progress table: the first deployment of code creates it."""
    try:
        yield
    except ServiceError as error:
        if error.code != NO_TABLE:
            raise


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRunner:
    """Plans and applies the change to a declared model."""

    model: Description
    read: Callable[[Description], Deployed]
    deployer: Deployer
    builder: Builder
    now: Callable[[], float]
    sleep: Callable[[float], object]
    longest: float = LONGEST_WRITE
    peak: int | None = None  # write units per second that the view must take at once
    stopped: Callable[[], bool] = lambda: False
    notify: Callable[[str], None] = field(default=lambda _: None)
    # Records the state, the titles of the completed steps and those of the others.
    record: Callable[[str, list[str], list[str]], object] = field(default=lambda *_: None)

    def plan(self, deployed: Deployed | None = None) -> Plan:
        """Plan from *deployed*, or from the deployment as it is now."""
        deployed = self.read(self.model) if deployed is None else deployed
        return make_plan(deployed, self.model, self.now(), longest=self.longest, peak=self.peak)

    def apply(self, agreed: Collection[str], deployed: Deployed | None = None) -> bool:
        """Apply the plan; return True when it is complete, False if it was stopped.

        *agreed* are the titles of the steps that may destroy something. The first step is planned
        from *deployed*, if passed; each later one from the deployment after the step before it.
        Raises PlanError if a step is refused or fails.
        """
        done: list[Step] = []
        remaining: list[Step] = []
        try:
            finished = self._apply(agreed, deployed, done, remaining)
        except BaseException:
            self._record(FAILED, done, remaining)
            raise
        self._record(DONE if finished else STOPPED, done, remaining)
        return finished

    def _apply(
        self,
        agreed: Collection[str],
        deployed: Deployed | None,
        done: list[Step],
        remaining: list[Step],
    ) -> bool:
        while True:
            deployed = self.read(self.model) if deployed is None else deployed
            plan = self.plan(deployed)
            remaining[:] = plan.steps
            if plan.refusals:
                raise PlanError("; ".join(plan.refusals))
            if not plan.steps:
                return True
            if self.stopped():
                return False
            step = plan.steps[0]
            self.notify(f"step {len(done) + 1} of {len(done) + len(plan.steps)}: {step.title}")
            if step in done[-1:]:
                msg = f"{step.title!r} was completed and is needed again: something undoes it"
                raise PlanError(msg)
            self._check(step, agreed)
            self._record(RUNNING, done, remaining)
            if not self._carry_out(step):
                return False
            done.append(step)
            deployed = None

    def _record(self, state: str, done: list[Step], remaining: list[Step]) -> None:
        if done or remaining:
            self.record(state, [step.title for step in done], [step.title for step in remaining])

    def _check(self, step: Step, agreed: Collection[str]) -> None:
        """Refuse to destroy what was not agreed on, or an index that is in use."""
        if step.destroys and step.title not in agreed:
            msg = f"{step.title!r} was not in the plan that you confirmed: run the command again"
            raise PlanError(msg)
        # A dropped index cannot be restored, and another API may have been deployed since.
        if isinstance(step, DropIndex) and (users := in_use(self.read(self.model), step.index)):
            msg = f"index {step.index} is not dropped: it is still used by {', '.join(users)}"
            raise PlanError(msg)

    def _carry_out(self, step: Step) -> bool:
        """Carry out one step; return False if it was stopped."""
        trouble = ""
        if isinstance(step, DeployCode):
            self.builder.invalidate(step)
        if not self._deploy(step):
            return False
        if isinstance(step, CreateIndex | DropIndex):
            gone = isinstance(step, DropIndex)
            self.deployer.await_index(step.index, gone=gone, stopped=self.stopped)
        elif isinstance(step, AwaitIndex):
            gone = step.status == DELETING
            self.deployer.await_index(step.index, gone=gone, stopped=self.stopped)
        elif isinstance(step, WarmUp):
            self.deployer.warm_up(step, stopped=self.stopped)
        elif isinstance(step, Wait):
            self._wait(step.deadline)
        elif isinstance(step, BackfillStep):
            trouble = self.builder.backfill(step.source)
        elif isinstance(step, SweepStep):
            trouble = self.builder.sweep(step.sources)
        if trouble and not self.stopped():
            msg = f"{step.title!r} did not complete: {trouble}"
            raise PlanError(msg)
        return not trouble

    def _deploy(self, step: Step) -> bool:
        """Deploy the stacks of a step; return False if it was stopped before."""
        if isinstance(step, DeployApi):
            if step.totals:
                self.deployer.await_totals(stopped=self.stopped)
                if self.stopped():
                    return False
            self.builder.complete(step.phase.pending)
        if step.stacks:
            self.deployer.deploy(step.stacks, step.phase)
        if isinstance(step, DeployCode):
            self.builder.record()
        return True

    def _wait(self, deadline: float) -> None:
        while not self.stopped() and (left := deadline - self.now()) > 0:
            self.sleep(min(left, NAP_SECONDS))
