"""A deployed model is recorded and built: by the deployment itself, or by a plan."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from adminview.bulk import build as phases
from adminview.bulk.builds import DEPLOYMENT, OLD_CODE_SECONDS, PLAN
from adminview.model import Item, Registry, Row
from adminview.model.errors import BulkError, ServiceError, SettingsError, TooEarlyError
from tests.support.build_site import (
    DAYS,
    SHARED,
    THING,
    BuildSite,
    site_with_items,
)
from tests.support.bulk_tables import make_model, never
from tests.support.fakes import TABLE

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


@pytest.fixture
def site() -> BuildSite:
    return site_with_items()


@pytest.fixture
def built(site: BuildSite) -> BuildSite:
    """Deploy and build a first model."""
    site.deploy("a", THING)
    site.execute()
    return site


def test_the_first_deployment_backfills_all_sources_at_once_and_sweeps_nothing(
    site: BuildSite,
) -> None:
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
    built: BuildSite,
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


def test_a_build_waits_until_no_code_of_the_model_before_can_write_rows(built: BuildSite) -> None:
    built.deploy("b", SHARED)
    built.execute()
    assert built.waits == OLD_CODE_SECONDS / 60
    assert built.pending == []


def test_the_sweep_of_a_removed_source_waits_for_the_model_before_too(built: BuildSite) -> None:
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


def test_a_build_waits_for_the_sweep_of_the_model_before(site: BuildSite) -> None:
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


def test_a_build_of_a_source_whose_stream_is_not_read_gives_up_after_an_hour(
    site: BuildSite,
) -> None:
    site.deploy("a", THING)
    site.followed = False
    with pytest.raises(TooEarlyError, match="is not read"):
        site.execute()
    assert site.waits == 60
    site.followed = True
    site.execute()
    assert site.pending == []


def test_a_model_that_changes_no_rows_needs_no_build(
    built: BuildSite, code: dict[str, str]
) -> None:
    code["b"] = "a"
    built.deploy("b", THING)
    assert (len(built.started), built.pending) == (1, [])


def test_a_deployment_that_is_taken_back_is_built_again(built: BuildSite) -> None:
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


def test_a_build_waits_for_functions_that_are_not_replaced_yet(built: BuildSite) -> None:
    built.deploy("b", SHARED)
    built.world.now += PAUSED
    built.world.fingerprint = "a"
    with pytest.raises(TooEarlyError, match="this function has a"):
        built.execute()


def test_a_build_that_a_later_deployment_overtakes_ends_without_a_failure(built: BuildSite) -> None:
    built.deploy("b", THING)
    built.world.now += PAUSED
    begun = built.step(step="begin", task="build", model="b")
    built.deploy("c", THING)
    assert built.step(**begun["segments"][0])["done"]
    assert built.step(**begun["finish"]) == {}
    assert built.builds.missing().unbuilt == ("Things",), "its run does not count"
    ended = built.step(**begun["then"])
    assert (ended["segments"], "then" in ended) == ([], False)


def test_a_segment_of_the_model_before_that_no_build_began_is_refused(built: BuildSite) -> None:
    built.deploy("b", THING)
    begun = built.step(step="begin", task="backfill", sources=["Things"])
    built.deploy("c", THING)
    with pytest.raises(SettingsError, match="begun by model b, but c is deployed"):
        built.step(**begun["segments"][0])


def test_an_event_that_is_delivered_again_starts_nothing_twice(built: BuildSite) -> None:
    built.deploy("b", SHARED)
    built.world.now += 60
    built.deploy("b", SHARED)
    built.check()
    assert len(built.started) == 2
    assert built.reports[-1][1] == 60, "seconds that it has waited"


def test_a_build_that_could_not_be_started_is_started_by_the_next_check(site: BuildSite) -> None:
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


def test_a_build_that_failed_is_not_started_again(site: BuildSite) -> None:
    site.deploy("a", THING)
    site.world.now += 7 * 3600
    site.check()
    assert len(site.started) == 1, "each attempt may read all items"
    report, waited = site.reports[-1]
    assert (report["patterns"], waited) == (1, 7 * 3600)


def test_a_plan_builds_itself_until_a_plain_deployment_takes_over(built: BuildSite) -> None:
    built.deploy("b", SHARED, owner=PLAN)
    built.check()
    assert (len(built.started), built.pending) == (1, ["shared"])
    built.deploy("b", SHARED)
    assert len(built.started) == 2
    built.world.now += PAUSED
    built.execute()
    assert built.pending == []


def test_a_new_stack_that_adopts_kept_tables_builds_all_rows_again(built: BuildSite) -> None:
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


def test_deleting_the_stack_changes_nothing(built: BuildSite) -> None:
    before = built.builds.read()
    assert built.check(RequestType="Delete") == {}
    assert built.builds.read() == before


def test_access_patterns_on_totals_wait_until_the_totals_include_all_rows(
    built: BuildSite, monkeypatch: pytest.MonkeyPatch
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
    site: BuildSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(phases, "SOURCES_AT_ONCE", 1)
    site.deploy("a", THING)
    site.execute()
    assert site.backfilled == [["backfill/Things"], ["backfill/Notes"]]
    assert site.pending == []


def test_a_build_that_does_not_complete_its_runs_fails(built: BuildSite) -> None:
    built.deploy("b", SHARED)
    built.world.now += PAUSED
    with pytest.raises(BulkError, match="Things were not backfilled"):
        built.step(step="begin", task="build", model="b", phase="finish")
    with pytest.raises(SettingsError, match="no phase is named 'other'"):
        built.step(step="begin", task="build", model="b", phase="other")
