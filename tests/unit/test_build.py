"""A deployed model is recorded and built: by the deployment itself, or by a plan."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any
from unittest.mock import Mock

import pytest

from adminview.aws.metered_client import Metered
from adminview.aws.rate_limit import RateLimiter
from adminview.bulk import build as phases
from adminview.bulk.builds import DEPLOYMENT, OLD_CODE_SECONDS, PLAN, Builds
from adminview.bulk.runs import Bulk
from adminview.handlers import build as function
from adminview.handlers.build import BuildDependencies
from adminview.handlers.bulk import BulkDependencies, run_step
from adminview.model import AccessPattern, Item, Registry, Row, Total
from adminview.model.errors import BulkError, ServiceError, SettingsError, TooEarlyError
from tests.support.bulk_tables import World, make_model, never
from tests.support.fakes import TABLE, Context

THING = AccessPattern("thing", partition="THING#{id}")
SHARED = AccessPattern("shared", partition="SHARED")
PER_DAY = Total("PerDay", sort="day")
DAYS = AccessPattern("days", total=PER_DAY)
CONTEXT = Context(100_000)
PAUSED = OLD_CODE_SECONDS + 1


@pytest.fixture(autouse=True)
def code(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Give each model other code of Things; that of Notes never changes."""
    versions: dict[str, str] = {}

    def code_of(registry: Registry, source: Any) -> str:
        version = versions.get(registry.fingerprint, registry.fingerprint)
        return version if source.name == "Things" else "never changes"

    monkeypatch.setattr(Registry, "_code_of", code_of)
    return versions


@dataclass
class Site:
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


@pytest.fixture
def site() -> Site:
    """Let there be some things and a note before anything is deployed."""
    new_site = Site()
    for number in range(3):
        new_site.world.put(f"t{number}", x="1")
    new_site.world.write("Notes", {"about": "t0", "number": 1, "text": "hello"})
    return new_site


@pytest.fixture
def built(site: Site) -> Site:
    """Deploy and build a first model."""
    site.deploy("a", THING)
    site.execute()
    return site


def test_the_first_deployment_backfills_all_sources_at_once_and_sweeps_nothing(site: Site) -> None:
    site.deploy("a", THING)
    assert site.pending == ["thing"]
    assert json.loads(site.started[0][1]) == {"task": "build", "model": "a"}
    site.execute()
    assert site.world.shown() == site.world.expected()
    assert site.backfilled == [["backfill/Notes", "backfill/Things"]]
    assert site.waits == 0
    assert site.pending == []
    assert not site.builds.missing()


def test_a_new_access_pattern_is_not_ready_until_its_build_has_swept_and_the_others_stay(
    built: Site,
) -> None:
    built.world.row("Things/gone", "SHARED", "stale")
    built.deploy("b", THING, SHARED)
    assert built.pending == ["shared"]
    built.world.now += PAUSED
    built.backfilled.clear()
    built.execute()
    assert built.backfilled == [["backfill/Things"], ["sweep/Things"]]
    assert ("SHARED", "stale") not in built.world.view
    assert built.pending == []


def test_a_build_waits_until_no_code_of_the_model_before_can_write_rows(built: Site) -> None:
    built.deploy("b", SHARED)
    built.execute()
    assert built.waits == OLD_CODE_SECONDS / 60
    assert built.pending == []


def test_the_sweep_of_a_removed_source_waits_for_the_model_before_too(built: Site) -> None:
    registry = replace(make_model(), patterns=(THING,))
    left = [source for source in registry.sources if source.name != "Things"]
    views = [view for view in registry.views if view.source in left]
    built.world.model = replace(registry, sources=(*left,), views=(*views,)).known_as("b")
    built.world.fingerprint = "b"
    built.backfilled.clear()
    built.check(RequestType="Update", ResourceProperties={"Model": "b", "Owner": DEPLOYMENT})
    built.execute()
    assert built.backfilled == [["sweep/*"]]
    assert built.waits == OLD_CODE_SECONDS / 60
    assert not built.builds.missing()


def test_a_build_waits_for_the_sweep_of_the_model_before(site: Site) -> None:
    """Its last invocation may run for a quarter of an hour, and delete the new rows."""
    old = replace(make_model(), patterns=(THING,))
    views = [
        replace(view, derive=without_shared) if view.name == "parts" else view for view in old.views
    ]
    site.world.model, site.world.fingerprint = replace(old, views=(*views,)).known_as("a"), "a"
    site.check(RequestType="Create", ResourceProperties={"Owner": DEPLOYMENT})
    site.execute()
    site.world.put("t0", shared="s")
    for number in range(40):
        site.world.row(f"Things/gone{number}", f"AAA#{number:02}", "stale")
    bulk, run = site.world.bulk, "sweep/*"
    (segment,) = bulk.begin(run, 1, deadline=never())
    task: Any = bulk.task(run)
    worker = replace(
        bulk.worker(run), task=replace(task, max_items=1), clock=lambda: site.world.now
    )
    pages = 0

    def time_passes(operation: str, table: str) -> None:
        nonlocal pages
        if operation != "scan" or table != TABLE:
            return
        pages += 1
        site.world.now += 20
        if pages == 2:
            site.deploy("b", THING, SHARED)
        elif pages == 30:
            site.world.db.on()
            begun = site.step(step="begin", task="build", model="b")
            for part in begun["segments"]:
                site.step(**part)
            site.world.db.on(before=time_passes)

    site.world.db.on(before=time_passes)
    worker.work(segment, end=never())
    site.world.db.on()
    site.execute()
    assert site.pending == []
    assert ("SHARED", "s") in site.world.view


def without_shared(item: Item) -> Iterator[Row]:
    """Derive the rows of parts alone, as a model without the access pattern did."""
    for name, value in item["parts"].items():
        yield Row(f"THING#{item['id']}", name, data={"value": value})


def test_a_build_of_a_source_whose_stream_is_not_read_gives_up_after_an_hour(site: Site) -> None:
    site.deploy("a", THING)
    site.followed = False
    with pytest.raises(TooEarlyError, match="is not read"):
        site.execute()
    assert site.waits == 60
    site.followed = True
    site.execute()
    assert site.pending == []


def test_a_model_that_changes_no_rows_needs_no_build(built: Site, code: dict[str, str]) -> None:
    code["b"] = "a"
    built.deploy("b", THING)
    assert (len(built.started), built.pending) == (1, [])


def test_a_deployment_that_is_taken_back_is_built_again(built: Site) -> None:
    built.deploy("b", SHARED)
    built.world.now += 60
    built.deploy("a", THING)
    assert built.pending == ["thing"], "functions of b did not write its rows"
    assert len(built.started) == 3
    assert len({name for name, _ in built.started}) == 3
    built.world.now += PAUSED
    built.backfilled.clear()
    built.execute(json.loads(built.started[1][1]))
    assert (built.backfilled, built.waits) == ([], 0), "it ends at once, and does not fail"
    built.execute()
    assert not built.builds.missing()


def test_a_build_waits_for_functions_that_are_not_replaced_yet(built: Site) -> None:
    built.deploy("b", SHARED)
    built.world.now += PAUSED
    built.world.fingerprint = "a"
    with pytest.raises(TooEarlyError, match="this function has a"):
        built.execute()


def test_a_build_that_a_later_deployment_overtakes_ends_without_a_failure(built: Site) -> None:
    built.deploy("b", THING)
    built.world.now += PAUSED
    begun = built.step(step="begin", task="build", model="b")
    built.deploy("c", THING)
    assert built.step(**begun["segments"][0])["done"]
    assert built.step(**begun["finish"]) == {}
    assert built.builds.missing().unbuilt == ("Things",), "its run does not count"
    ended = built.step(**begun["then"])
    assert (ended["segments"], "then" in ended) == ([], False)


def test_a_segment_of_the_model_before_that_no_build_began_is_refused(built: Site) -> None:
    built.deploy("b", THING)
    begun = built.step(step="begin", task="backfill", sources=["Things"])
    built.deploy("c", THING)
    with pytest.raises(SettingsError, match="begun by model b, but c is deployed"):
        built.step(**begun["segments"][0])


def test_an_event_that_is_delivered_again_starts_nothing_twice(built: Site) -> None:
    built.deploy("b", SHARED)
    built.world.now += 60
    built.deploy("b", SHARED)
    built.check()
    assert len(built.started) == 2
    assert built.reports[-1][1] == 60, "seconds that it has waited"


def test_a_build_that_could_not_be_started_is_started_by_the_next_check(site: Site) -> None:
    site.refusal = ServiceError("ThrottlingException", "start an execution")
    with pytest.raises(ServiceError):
        site.deploy("a", THING)
    assert site.pending == ["thing"], "it is recorded all the same"
    site.refusal = None
    site.world.now += 900
    site.check()
    site.execute()
    assert site.pending == []
    site.check()
    assert (len(site.started), site.reports[-1][1]) == (1, 0.0)


def test_a_build_that_failed_is_not_started_again(site: Site) -> None:
    site.deploy("a", THING)
    site.world.now += 7 * 3600
    site.check()
    assert len(site.started) == 1, "each attempt may read all items"
    report, waited = site.reports[-1]
    assert (report["patterns"], waited) == (1, 7 * 3600)


def test_a_plan_builds_itself_until_a_plain_deployment_takes_over(built: Site) -> None:
    built.deploy("b", SHARED, owner=PLAN)
    built.check()
    assert (len(built.started), built.pending) == (1, ["shared"])
    built.deploy("b", SHARED)
    assert len(built.started) == 2
    built.world.now += PAUSED
    built.execute()
    assert built.pending == []


def test_a_new_stack_that_adopts_kept_tables_builds_all_rows_again(built: Site) -> None:
    built.world.row("Things/gone", "SHARED", "stale")
    built.deploy("a", THING, stack="created again")
    assert built.pending == ["thing"], "changes in between were lost"
    built.deploy("a", THING, stack="created again")
    assert len(built.started) == 2, "an event that is delivered again changes nothing"
    built.world.now += PAUSED
    built.backfilled.clear()
    built.execute()
    assert built.backfilled[0] == ["backfill/Notes", "backfill/Things"]
    assert ("SHARED", "stale") not in built.world.view
    assert not built.builds.missing()
    built.check()
    assert len(built.started) == 2


def test_deleting_the_stack_changes_nothing(built: Site) -> None:
    before = built.builds.read()
    assert built.check(RequestType="Delete") == {}
    assert built.builds.read() == before


def test_access_patterns_on_totals_wait_until_the_totals_include_all_rows(
    built: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    built.deploy("b", THING, SHARED, DAYS)
    built.world.now += PAUSED
    built.arrivals = [False]
    monkeypatch.setattr(phases, "POLL_SECONDS", 1000.0)  # more than is left of the invocation
    begun = built.step(step="begin", task="build", model="b")
    for segment in begun["segments"]:
        built.step(**segment)
    built.step(**begun["finish"])
    swept = built.step(**begun["then"])
    for segment in swept["segments"]:
        built.step(**segment)
    built.step(**swept["finish"])
    assert sorted(built.pending) == ["days", "shared"]
    assert "wait" in built.step(**swept["then"])
    assert built.pending == ["days"]
    built.arrivals = [False, False, True]
    built.execute()
    assert (built.waits, built.pending) == (2, [])


def test_many_sources_are_backfilled_some_at_a_time(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(phases, "SOURCES_AT_ONCE", 1)
    site.deploy("a", THING)
    site.execute()
    assert site.backfilled == [["backfill/Things"], ["backfill/Notes"]]
    assert site.pending == []


def test_a_build_that_does_not_complete_its_runs_fails(built: Site) -> None:
    built.deploy("b", SHARED)
    built.world.now += PAUSED
    with pytest.raises(BulkError, match="Things were not backfilled"):
        built.step(step="begin", task="build", model="b", phase="finish")
    with pytest.raises(SettingsError, match="no phase is named 'other'"):
        built.step(step="begin", task="build", model="b", phase="other")


# The function as CloudFormation and Lambda invoke it.

EVENT = {
    "RequestType": "Create",
    "ResponseURL": "https://bucket.example/answer?signature",
    "StackId": "stack",
    "RequestId": "request",
    "LogicalResourceId": "BuildModel",
}


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Receive the answers to CloudFormation."""
    received: list[Any] = []

    def receive(request: Any, timeout: float) -> BytesIO:
        assert 0 < timeout < 15
        assert (request.method, request.full_url) == ("PUT", EVENT["ResponseURL"])
        assert request.get_header("Content-type") == "", "it is not part of the signature"
        received.append(json.loads(request.data))
        return BytesIO()

    monkeypatch.setattr("adminview.aws.custom_resource.urlopen", receive)
    return received


def handle_with(monkeypatch: pytest.MonkeyPatch, make: Callable[[], Any], **event: str) -> Any:
    monkeypatch.setattr(function, "dependencies", make)
    return function.handle(event, CONTEXT)


def test_cloudformation_gets_an_answer(
    site: Site, answers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    site.world.model = replace(site.world.model, patterns=(THING,)).known_as("a")
    deps = BuildDependencies(site.builds, site.start, Mock())
    handle_with(monkeypatch, lambda: deps, **EVENT)
    assert answers == [
        {
            "Status": "SUCCESS",
            "PhysicalResourceId": "build",
            "StackId": "stack",
            "RequestId": "request",
            "LogicalResourceId": "BuildModel",
        }
    ]
    assert site.started
    handle_with(monkeypatch, lambda: deps, **EVENT, PhysicalResourceId="as before")
    assert answers[1]["PhysicalResourceId"] == "as before", "another id would delete the resource"
    assert handle_with(monkeypatch, lambda: deps)["patterns"] == 1
    assert len(answers) == 2, "a schedule expects no answer"


def test_a_check_that_fails_does_not_fail_the_deployment_but_the_invocation(
    answers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> Any:
        msg = "environment variables not set"
        raise SettingsError(msg)

    with pytest.raises(SettingsError):
        handle_with(monkeypatch, fail, **EVENT)
    assert [answer["Status"] for answer in answers] == ["SUCCESS"]


def test_a_check_that_takes_too_long_is_answered_in_time(
    answers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(function, "dependencies", lambda: time_out(answers))
    with pytest.raises(TimeoutError):
        function.handle(EVENT, Context(int(function.ANSWER_SECONDS * 1000) + 50))
    assert len(answers) == 1


def time_out(answers: list[Any]) -> Any:
    """Return when the answer was sent."""
    while not answers:
        pass
    msg = "too late"
    raise SettingsError(msg)
