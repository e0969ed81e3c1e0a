"""Carry a plan out, step by step; after each one look again, and plan the rest anew.

So it does not matter who carried out what came before, when, and on which machine: a stop, a crash
or somebody else's deployment is no more than another state to plan from.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from adminview.aws.table_description import DELETING
from adminview.cli.deployment.facts import Deployed
from adminview.cli.model_lock.model_diff import Description
from adminview.cli.planning.phases import Phase
from adminview.cli.planning.planner import LONGEST_WRITE, make_plan
from adminview.cli.planning.refusals import in_use
from adminview.cli.planning.step import Plan, Step
from adminview.cli.planning.steps import (
    AwaitIndex,
    BackfillStep,
    CreateIndex,
    DeployCode,
    DropIndex,
    SweepStep,
    Wait,
)
from adminview.model.errors import AdminViewError

NAP_SECONDS = 5.0  # the longest, so that a stop is soon noticed


class PlanError(AdminViewError):
    """A plan cannot be carried out, or not further; what is done stays done."""


class Deployer(Protocol):
    """Who changes the stacks."""

    def deploy(self, stacks: Sequence[str], phase: Phase) -> None:
        """Deploy some stacks, and nothing else; raise a PlanError if that fails."""

    def await_index(self, name: str, *, gone: bool, stopped: Callable[[], bool]) -> None:
        """Wait until an index of the view is active, or is gone, or somebody wants to stop."""


class Builder(Protocol):
    """Who goes through whole tables; both say why they did not end, if they did not."""

    def invalidate(self, step: DeployCode) -> None:
        """Note before other code is deployed which sources it makes unbuilt."""

    def backfill(self, source: str) -> str:
        """Derive all rows of a source anew."""

    def sweep(self, sources: Sequence[str]) -> str:
        """Remove the rows that nothing derives any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """A declared model, and everything that brings it about."""

    model: Description
    read: Callable[[Description], Deployed]
    deployer: Deployer
    builder: Builder
    now: Callable[[], float]
    sleep: Callable[[float], object]
    longest: float = LONGEST_WRITE
    stopped: Callable[[], bool] = lambda: False
    say: Callable[[str], None] = field(default=lambda _: None)

    def plan(self, deployed: Deployed | None = None) -> Plan:
        """Plan from what is *deployed*, or from what is read now."""
        deployed = self.read(self.model) if deployed is None else deployed
        return make_plan(deployed, self.model, self.now(), longest=self.longest)

    def apply(self, agreed: Collection[str], deployed: Deployed | None = None) -> bool:
        """Carry out what is left of the plan, and tell whether all of it is done.

        *agreed* names the steps that destroy something and may. The first step is planned from what
        is *deployed*, if that was just read; every other from what is read after the step before.
        Raises a PlanError if it cannot go on.
        """
        done: list[Step] = []
        while True:
            deployed = self.read(self.model) if deployed is None else deployed
            plan = self.plan(deployed)
            if plan.refusals:
                raise PlanError("; ".join(plan.refusals))
            if not plan.steps:
                return True
            if self.stopped():
                return False
            step = plan.steps[0]
            self.say(f"step {len(done) + 1} of {len(done) + len(plan.steps)}: {step.title}")
            if step in done[-1:]:
                msg = f"{step.title!r} was done, and is still to be done: something undoes it"
                raise PlanError(msg)
            self._check(step, agreed)
            if not self._carry_out(step):
                return False
            done.append(step)
            deployed = None

    def _check(self, step: Step, agreed: Collection[str]) -> None:
        """Refuse to destroy what nobody agreed on, or what is still asked."""
        if step.destroys and step.title not in agreed:
            msg = f"{step.title!r} has come into the plan since it was agreed on: look at it again"
            raise PlanError(msg)
        if isinstance(step, DropIndex):
            # Read again: a dropped index cannot be brought back, and the API may be another by now.
            asking = in_use(self.read(self.model), step.index)
            if asking:
                msg = f"index {step.index} is not dropped: {', '.join(asking)} still asks it"
                raise PlanError(msg)

    def _carry_out(self, step: Step) -> bool:
        """Do one step, and tell whether it was done to its end."""
        trouble = ""
        if isinstance(step, DeployCode):
            self.builder.invalidate(step)
        if step.stacks:
            self.deployer.deploy(step.stacks, step.phase)
        if isinstance(step, CreateIndex | DropIndex):
            gone = isinstance(step, DropIndex)
            self.deployer.await_index(step.index, gone=gone, stopped=self.stopped)
        elif isinstance(step, AwaitIndex):
            gone = step.status == DELETING
            self.deployer.await_index(step.index, gone=gone, stopped=self.stopped)
        elif isinstance(step, Wait):
            self._wait(step.deadline)
        elif isinstance(step, BackfillStep):
            trouble = self.builder.backfill(step.source)
        elif isinstance(step, SweepStep):
            trouble = self.builder.sweep(step.sources)
        if trouble and not self.stopped():
            msg = f"{step.title!r} did not end: {trouble}"
            raise PlanError(msg)
        return not trouble

    def _wait(self, deadline: float) -> None:
        while not self.stopped() and (left := deadline - self.now()) > 0:
            self.sleep(min(left, NAP_SECONDS))
