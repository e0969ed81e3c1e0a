"""The console follows bulk work and an apply while they run, on both engines."""

from pathlib import Path
from typing import Any

import pytest

from adminview.bulk.runs import EVERYTHING
from adminview.cli.planning.record import PlanRecord
from adminview.local.local_cloud import LocalCloud
from adminview.model.readiness import progress_table
from adminview.model.row import VIEW_TABLE
from tests.support.bulk_steps import SteppedRun
from tests.support.console import ConsoleClient, console_of
from tests.support.model import USER, order
from tests.support.plan_site import Site, deployed_site


@pytest.fixture
def console(cloud: LocalCloud, tmp_path: Path) -> ConsoleClient:
    cloud.put("Users", USER)
    cloud.put("Orders", order())
    cloud.settle()
    return console_of(cloud, tmp_path / "audit.jsonl")


def running(console: ConsoleClient) -> list[Any]:
    runs: list[Any] = console.get("/progress")["runs"]
    return runs


@pytest.mark.parametrize(
    ("kind", "subject"), [("backfill", "Orders"), ("sweep", EVERYTHING), ("verify", "Orders")]
)
def test_a_run_is_shown_segment_by_segment(
    cloud: LocalCloud, console: ConsoleClient, kind: str, subject: str
) -> None:
    assert running(console) == []
    work = SteppedRun(cloud, kind, subject)
    work.step()
    (run,) = running(console)
    assert (run["kind"], run["subject"]) == (kind, subject)
    assert (run["segmentsDone"], run["segments"]) == (1, 2)
    work.step()
    assert running(console) == []
    (done,) = console.get("/progress")["completed"]
    assert done["run"] == f"{kind}/{subject}"
    assert sum(done["counts"].values()) > 0


def test_an_apply_is_shown_step_by_step(cloud: LocalCloud, console: ConsoleClient) -> None:
    site, seen = deployed_site(), list[Any]()
    record = PlanRecord(cloud.clients.dynamodb, progress_table(VIEW_TABLE), "newer")

    def shown(state: str, done: list[str], remaining: list[str]) -> None:
        record.write(state, done, remaining)
        seen.append(console.get("/progress")["plan"]["apply"])

    runner = site.runner(record=shown)
    titles = [step.title for step in runner.plan().steps]
    assert console.get("/progress")["plan"]["apply"] is None
    assert runner.apply(runner.plan().destroyed)
    for number, apply in enumerate(seen[:-1]):
        assert [step["title"] for step in apply["steps"]] == titles
        states = [step["state"] for step in apply["steps"]]
        assert states == ["done"] * number + ["running"] + ["waiting"] * (len(titles) - number - 1)
        assert (apply["state"], apply["model"]) == ("running", "newer")
    assert seen[-1]["state"] == "done"
    assert {step["state"] for step in seen[-1]["steps"]} == {"done"}


def test_a_failed_apply_names_its_step(cloud: LocalCloud, console: ConsoleClient) -> None:
    site: Site = deployed_site()
    site.trouble = "stopped"
    site.stops = lambda title: "backfill" in title
    record = PlanRecord(cloud.clients.dynamodb, progress_table(VIEW_TABLE))
    assert not site.runner(record=record.write).apply(())
    apply = console.get("/progress")["plan"]["apply"]
    assert apply["state"] == "stopped"
    (stopped,) = [step for step in apply["steps"] if step["state"] == "stopped"]
    assert stopped["title"] == "backfill Orders"


def test_a_plan_is_applied_although_nobody_can_watch_it(cloud: LocalCloud) -> None:
    record = PlanRecord(cloud.clients.dynamodb, "no-such-table")
    site = deployed_site()
    assert site.runner(record=record.write).apply(site.runner().plan().destroyed)
