"""A deployment whose model is recorded and built, without a cloud."""

import json
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import Mock

from adminview.aws.metered_client import Metered
from adminview.aws.rate_limit import RateLimiter
from adminview.bulk.builds import DEPLOYMENT, Builds
from adminview.bulk.runs import Bulk
from adminview.handlers import build as function
from adminview.handlers.build import BuildDependencies
from adminview.handlers.bulk import BulkDependencies, run_step
from adminview.model import AccessPattern, Total
from adminview.model.errors import SettingsError
from tests.support.bulk_tables import World, make_model
from tests.support.fakes import Context

THING = AccessPattern("thing", partition="THING#{id}")
SHARED = AccessPattern("shared", partition="SHARED")
PER_DAY = Total("PerDay", sort="day")
DAYS = AccessPattern("days", total=PER_DAY)
CONTEXT = Context(100_000)


@dataclass
class BuildSite:
    """A deployment: its tables, the functions, and the executions that were started."""

    world: World = field(default_factory=World)
    started: list[tuple[str, str]] = field(default_factory=list)
    reports: list[tuple[Any, float]] = field(default_factory=list)
    refusal: Exception | None = None
    followed: bool = True
    arrivals: list[bool] = field(default_factory=list)  # of the probes
    backfilled: list[list[str]] = field(default_factory=list)
    waits: int = 0

    def deploy(
        self, model: str, *patterns: AccessPattern, owner: str = DEPLOYMENT, stack: str = "stack"
    ) -> None:
        """Deploy a model as CloudFormation does."""
        totals = (PER_DAY,) if DAYS in patterns else ()
        registry = replace(make_model(), patterns=patterns, totals=totals)
        self.world.model, self.world.fingerprint = registry.known_as(model), model
        properties = {"Model": model, "Owner": owner}
        self.check(RequestType="Update", ResourceProperties=properties, StackId=stack)

    def check(self, **event: Any) -> Any:
        observer: Any = Mock(checked=lambda *report: self.reports.append(report))
        return function.run(event, CONTEXT, BuildDependencies(self.builds, self.start, observer))

    def start(self, name: str, text: str) -> str:
        if self.refusal:
            raise self.refusal
        self.started.append((name, text))
        return f"execution:{name}"

    @property
    def builds(self) -> Builds:
        return Builds(self.world.progress, self.world.model.description(), lambda: self.world.now)

    @property
    def pending(self) -> list[str]:
        return self.builds.pending(self.builds.read())

    def execute(self, event: Any = None) -> None:
        """Do what the state machine does."""
        event = event or json.loads(self.started[-1][1])
        while event:
            begun = self.step(step="begin", **event)
            if "wait" in begun:
                self.waits += 1
                self.world.now += begun["wait"]
            runs = sorted({segment["run"] for segment in begun["segments"]})
            self.backfilled += [runs] if runs else []
            for segment in begun["segments"]:
                assert self.step(**segment)["done"]
            self.step(**begun["finish"])
            event = {key: value for key, value in begun.get("then", {}).items() if key != "step"}

    def step(self, **event: Any) -> Any:
        observer: Any = Mock()
        probes: Any = Mock(have_arrived=lambda: self.arrivals.pop(0))
        dependencies = BulkDependencies(
            self._bulk, self._follow, observer, lambda: probes, self.world.sleep
        )
        return (
            run_step({"segments": 1, **event}, CONTEXT, dependencies)
            if event["step"] == "begin"
            else run_step(event, CONTEXT, dependencies)
        )

    def _bulk(self, *_: RateLimiter) -> Bulk:
        client: Any = self.world.db
        return replace(self.world.bulk, client=Metered(client, RateLimiter(), RateLimiter()))

    def _follow(self, *_: Any) -> None:
        if not self.followed:
            msg = "the stream is not read"
            raise SettingsError(msg)


def site_with_items() -> BuildSite:
    """Let there be some things and a note before anything is deployed."""
    site = BuildSite()
    for number in range(3):
        site.world.put(f"t{number}", x="1")
    site.world.write("Notes", {"about": "t0", "number": 1, "text": "hello"})
    return site
