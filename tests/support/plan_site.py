"""A simulated deployment that a plan is applied to, step by step."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from adminview.cli.deployment.facts import Deployed
from adminview.cli.model_lock.model_diff import Description
from adminview.cli.planning.apply import PlanRunner
from adminview.cli.planning.steps import (
    DeployApi,
    DeployCode,
    DeployWatch,
    Phase,
    Step,
    SweepStep,
    WarmUp,
)
from tests.support.plan_simulator import World, index, model, question

OLDER, NEWER, CITY = index("Older", "k"), index("Newer", "k", include=()), index("City", "c")
OLD = model({"Orders": "a"}, (OLDER, CITY), (question("q", OLDER), question("of-city", CITY)))
NEW = model({"Orders": "b"}, (NEWER,), (question("q", NEWER),))


@dataclass
class Site:
    """A world that is changed by an application."""

    world: World
    model: Description
    deaf: bool = False  # deployments say that they went well, and did nothing
    trouble: str = ""
    stops: Callable[[str], bool] = lambda _: False
    notices: list[str] = field(default_factory=list)
    code: DeployCode | None = None
    deployments: int = 0

    def runner(self, **changes: Any) -> PlanRunner:
        runner = PlanRunner(
            model=self.model,
            read=self.read,
            deployer=self,
            builder=self,
            now=lambda: self.world.now,
            sleep=self.sleep,
            stopped=lambda: any(map(self.stops, self.notices)),
            notify=self.notices.append,
        )
        return replace(runner, **changes)

    def read(self, _: Description) -> Deployed:
        return self.world.deployed

    def sleep(self, seconds: float) -> None:
        self.world.now += seconds

    def deploy(self, stacks: Sequence[str], phase: Phase) -> None:
        self.deployments += 1
        assert self.deployments < 50
        steps: dict[Sequence[str], Step | None] = {
            ("Api",): DeployApi(reason="", phase=phase),
            ("Sync", "Recovery"): self.code,
            ("Watch",): DeployWatch(reason=""),
        }
        if not self.deaf:
            step = steps.get(tuple(stacks)) or _Deployment(reason="", phase=phase)
            if isinstance(step, _Deployment):
                self.world._view(step, self.model)
            else:
                self.world.carry_out(step, self.model)

    def await_index(self, name: str, *, gone: bool, stopped: Callable[[], bool]) -> None:
        assert name
        assert gone in (True, False)
        assert stopped() in (True, False)
        self.world._indexes_settle()

    def warm_up(self, step: WarmUp, *, stopped: Callable[[], bool]) -> None:
        assert not stopped()
        facts = self.world.deployed
        indexes = [replace(index, warm_writes=step.units) for index in facts.indexes or ()]
        self.world.deployed = replace(facts, warm_writes=step.units, indexes=tuple(indexes))

    def await_totals(self, *, stopped: Callable[[], bool]) -> None:
        assert not stopped()

    def invalidate(self, step: DeployCode) -> None:
        self.code = step

    def record(self) -> None:
        """Record nothing."""

    def complete(self, pending: Collection[str]) -> None:
        assert set(pending) <= {shape["name"] for shape in self.model["patterns"]}

    def backfill(self, source: str) -> str:
        if not self.trouble:
            self.world._backfill(source, self.model)
        return self.trouble

    def sweep(self, sources: Sequence[str]) -> str:
        self.world.carry_out(SweepStep(reason="", sources=tuple(sources)), self.model)
        return ""


class _Deployment(Step):
    """A deployment of the View stack."""

    title = "deploy the view"


def deployed_site() -> Site:
    """Deploy the older model, some time ago."""
    world = World()
    world.reach(OLD)
    world.now += 1000
    return Site(world, NEW)
