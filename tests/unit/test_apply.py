"""A plan is applied step by step, with confirmation, until a step fails."""

import io
import json
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from adminview.cli.commands.plan import DONE, REFUSED, UNFINISHED, carry_out, show
from adminview.cli.deployment.facts import Deployed
from adminview.cli.deployment.read import Tables
from adminview.cli.model_lock.model_diff import Description
from adminview.cli.output.printing import Console
from adminview.cli.planning.apply import PlanError, PlanRunner
from adminview.cli.planning.cdk import CdkDeployer, find_cdk
from adminview.cli.planning.steps import (
    Phase,
    WarmUp,
)
from adminview.cli.shutdown import Shutdown, graceful_shutdown
from tests.support.plan_simulator import index, model
from tests.support.plan_site import NEW, OLD, Site, deployed_site


@pytest.fixture
def site() -> Site:
    return deployed_site()


def test_warm_throughput_is_raised_once_and_before_the_first_backfill(site: Site) -> None:
    site.warm_up(WarmUp(reason="", units=4_000, table=True), stopped=lambda: False)
    assert replace(site.runner(), peak=20_000).apply({"drop index City", "drop index Older"})
    raised = [step for step in site.notices if "warm throughput" in step]
    backfills = [step for step in site.notices if "backfill" in step]
    assert len(raised) == 1
    assert site.notices.index(raised[0]) < site.notices.index(backfills[0])


def test_a_plan_is_carried_out_and_says_where_it_is(site: Site) -> None:
    application = site.runner()
    count = len(application.plan().steps)
    assert application.apply(application.plan().destroyed)
    assert list(site.world.unmet(NEW)) == []
    assert site.notices[0] == f"step 1 of {count}: create index Newer, and wait until it is active"
    assert site.notices[-1].startswith(f"step {count} of {count}: ")


Recorded = list[tuple[str, list[str], list[str]]]


def recording(site: Site, recorded: Recorded) -> PlanRunner:
    return site.runner(record=lambda *steps: recorded.append(steps))


def test_every_step_is_recorded_when_it_begins_and_at_the_end(site: Site) -> None:
    recorded: Recorded = []
    titles = [step.title for step in site.runner().plan().steps]
    assert recording(site, recorded).apply(site.runner().plan().destroyed)
    states = [state for state, _, _ in recorded]
    assert states == [*["running"] * len(titles), "done"]
    assert recorded[0][1:] == ([], titles)
    assert recorded[-1][1:] == (titles, [])
    assert [remaining[0] for _, _, remaining in recorded[:-1]] == titles


def test_a_failed_or_stopped_step_is_recorded(site: Site) -> None:
    recorded: Recorded = []
    site.trouble = "too many items failed"
    with pytest.raises(PlanError):
        recording(site, recorded).apply(())
    assert (recorded[-1][0], recorded[-1][2][0]) == ("failed", "backfill Orders")
    site.stops = lambda title: "backfill" in title
    assert not recording(site, recorded).apply(())
    assert (recorded[-1][0], recorded[-1][2][0]) == ("stopped", "backfill Orders")


def test_a_plan_without_steps_records_nothing(site: Site) -> None:
    site.runner().apply(site.runner().plan().destroyed)
    recorded: Recorded = []
    assert recording(site, recorded).apply(())
    assert recorded == []


def test_nothing_is_destroyed_that_nobody_agreed_on(site: Site) -> None:
    with pytest.raises(PlanError, match="'drop index Older' was not in the plan that you"):
        site.runner().apply(["drop index City"])
    assert {"Older", "City"} <= {index.name for index in site.world.deployed.indexes or ()}


def test_an_index_is_not_dropped_while_it_is_queried(site: Site) -> None:
    """Somebody deploys the old API at the last moment."""
    application = site.runner()
    looks = iter(range(10_000))

    def read(target: Description) -> Deployed:
        facts = site.read(target)
        dropping = bool(site.notices) and "drop index Older" in site.notices[-1]
        return replace(facts, api=OLD, pending={}) if dropping and next(looks) == 0 else facts

    with pytest.raises(PlanError, match="index Older is not dropped: it is still used by q"):
        replace(application, read=read).apply(application.plan().destroyed)
    assert site.world.deployed.index("Older")


def test_a_step_that_changes_nothing_is_not_done_again_and_again(site: Site) -> None:
    site.deaf = True
    with pytest.raises(PlanError, match="was completed and is needed again"):
        site.runner().apply(())


def test_a_backfill_in_trouble_ends_the_plan_there(site: Site) -> None:
    site.trouble = "too many items failed"
    with pytest.raises(
        PlanError, match="'backfill Orders' did not complete: too many items failed"
    ):
        site.runner().apply(())
    assert site.world.deployed.pending == {"q": "Older"}


def test_a_stop_within_a_backfill_is_no_trouble(site: Site) -> None:
    site.trouble, site.stops = "stopped", lambda title: "backfill" in title
    assert not site.runner().apply(())


def test_a_stop_cuts_a_pause_short_and_begins_nothing_new(site: Site) -> None:
    site.stops = lambda title: "wait " in title and "active" not in title
    before = site.world.now
    assert not site.runner().apply(())
    assert site.world.now == before
    assert "wait 300 seconds" in site.notices[-1]


def run(site: Site, confirm: Callable[[str], bool] | None) -> tuple[int, str]:
    """Carry a plan out as the command does, and give its status and what it printed."""
    console = Console(file=io.StringIO(), width=200)
    application = site.runner()
    deployed = application.read(application.model)
    status = carry_out(application, deployed, console, confirm)
    assert isinstance(console.file, io.StringIO)
    return status, console.file.getvalue()


def test_the_command_shows_the_plan_and_prompts_before_it_drops_anything(site: Site) -> None:
    questions: list[str] = []

    def no(question: str) -> bool:
        questions.append(question)
        return False

    status, printed = run(site, no)
    assert status == UNFINISHED
    assert "drop index Older" in printed
    assert questions == ["11 steps. It will drop index City, and drop index Older. Continue?"]
    assert site.notices == []
    status, printed = run(site, lambda _: True)
    assert (status, printed.splitlines()[-1]) == (
        DONE,
        "done: the declared model is deployed, and all its access patterns are ready",
    )
    assert run(site, no)[0] == DONE
    assert len(questions) == 1  # nothing to do needs no confirmation


def test_a_signal_ends_the_command_at_a_prompt_and_stops_it_gracefully_at_work(
    site: Site,
) -> None:
    usual = signal.getsignal(signal.SIGINT)
    seen: list[bool] = []

    def asks(_: str) -> bool:
        seen.append(signal.getsignal(signal.SIGINT) is usual)
        return True

    def works(title: str) -> bool:
        seen.append(signal.getsignal(signal.SIGINT) is not usual)
        return not title

    site.stops = works
    console = Console(file=io.StringIO(), width=200)
    application = site.runner()
    deployed = application.read(application.model)
    working = partial(graceful_shutdown, Shutdown())
    assert carry_out(application, deployed, console, asks, working) == DONE
    assert len(seen) > 2
    assert all(seen)


def test_the_command_says_why_it_refuses_and_why_it_stopped(site: Site) -> None:
    site.trouble = "no [bold] reason"
    status, printed = run(site, None)
    assert (status, "did not complete: no [bold] reason" in printed) == (REFUSED, True)
    site.trouble, site.stops = "stopped", lambda title: "backfill" in title
    status, printed = run(site, None)
    assert (status, "the same command resumes here" in printed) == (UNFINISHED, True)
    site.model = model({"Orders": "b"}, (index("Older", "other"),))
    status, printed = run(site, None)
    assert status == REFUSED
    assert "give it a new name" in printed


def test_a_plan_without_steps_says_so(site: Site) -> None:
    console = Console(file=io.StringIO())
    show(replace(site.runner(), model=OLD).plan(), console, as_json=False)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().startswith("nothing to do: ")


# The CDK command.

FAKE = """
import json, pathlib, sys
wave = next(word for word in sys.argv if "rolloutPhase=" in word).partition("=")[2]
pathlib.Path("called.json").write_text(
    json.dumps({"words": sys.argv[1:], "wave": json.loads(pathlib.Path(wave).read_text())})
)
for number in range(40):
    print("line", number)
sys.exit("boom" if "team-AdminView-dev-View" in sys.argv else 0)
"""


def deployer(folder: Path, **more: Any) -> CdkDeployer:
    (folder / "cdk.py").write_text(FAKE)
    tables = Tables(None, "AdminViewTable", lambda: 0.0)  # type: ignore[arg-type]  # not called
    command = (sys.executable, str(folder / "cdk.py"))
    return CdkDeployer("dev", "team-", tables, folder, command, **more)


def test_stacks_are_deployed_by_themselves_with_their_wave(tmp_path: Path) -> None:
    shown: list[str] = []
    deployer(tmp_path, show=shown.append).deploy(["Sync", "Recovery"], Phase(without=("GSI9",)))
    called = json.loads((tmp_path / "called.json").read_text())
    words = " ".join(called["words"])
    assert words.startswith("deploy team-AdminView-dev-Sync team-AdminView-dev-Recovery --excl")
    assert "--require-approval never" in words
    assert "-c adminview:stage=dev -c adminview:prefix=team- -c adminview:rolloutPhase=" in words
    assert called["wave"] == {"keep": [], "without": ["GSI9"], "pending": {}}
    assert shown[-1] == "line 39"


def test_a_deployment_that_fails_shows_how_it_ended(tmp_path: Path) -> None:
    with pytest.raises(PlanError) as failed:
        deployer(tmp_path).deploy(["View"], Phase())
    message = str(failed.value)
    assert "`cdk deploy team-AdminView-dev-View` failed" in message
    assert message.endswith("line 39\nboom")
    assert "line 5\n" not in message
    assert "line 5\n" in (tmp_path / "cdk.out" / "apply.log").read_text()


def test_a_missing_command_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PlanError, match="run `npm ci` in"):
        find_cdk(tmp_path)
    own = tmp_path / "node_modules" / ".bin" / "cdk"
    own.parent.mkdir(parents=True)
    own.write_text("")
    assert find_cdk(tmp_path) == str(own)
