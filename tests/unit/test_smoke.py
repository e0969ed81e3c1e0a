"""The command `adminview smoke`: what it selects, refuses, prints and cleans up."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from adminview.cli.commands import smoke as command
from adminview.cli.commands.smoke import _check_stage
from adminview.cli.errors import UsageError
from adminview.cli.main import app
from adminview.cli.output.smoke import as_data, listing, markdown
from adminview.cli.smoke.catalogue import ALL, ORDER, RunEstimate, run_checks, select
from adminview.cli.smoke.check import (
    Cleanup,
    Seen,
    SmokeCheck,
    SmokeResult,
    SmokeStatus,
    failed,
    passed,
    run_check,
)
from adminview.cli.smoke.cost import dollars
from adminview.cli.smoke.run import MOST_SECONDS, SmokeRun
from adminview.cli.smoke.scratch import (
    ScratchError,
    changed_item,
    poison_item,
    scratch_item,
)
from adminview.model.errors import QueryError, RecordError, SettingsError
from adminview.model.limits import ROW_LIMIT
from adminview.preview import encode_item
from adminview.sync.decode import Route, routes
from adminview.sync.derive import derive
from tests.support.deployment import SYNC, sound
from tests.support.model import registry
from tests.support.smoke import ITEMS, MARK, Waiting, smoke_run
from tests.support.view_files import with_view_file

ROOT = Path(__file__).parents[2]
PASSED, FAILED, UNKNOWN = SmokeStatus.PASSED, SmokeStatus.FAILED, SmokeStatus.UNKNOWN


def check(run: Callable[[SmokeRun, Cleanup], Seen], **changes: Any) -> SmokeCheck:
    default = SmokeCheck(1, "a title", "what is expected", run, minutes=1, cents=1)
    return replace(default, **changes)


# Selecting


def test_every_check_runs_once_and_has_its_own_number() -> None:
    assert sorted(ORDER) == sorted(ALL) == [*range(1, len(ALL) + 1)]
    assert len({check.title for check in ALL.values()}) == len(ALL)


def test_checks_are_selected_by_number_and_run_in_order() -> None:
    assert [check.number for check in select([7, 3])] == [3, 7]
    assert [check.number for check in select(None)] == [*ORDER]
    with pytest.raises(QueryError, match="there is no check 99"):
        select([1, 99])


def test_a_whole_run_is_within_its_limits() -> None:
    estimate = RunEstimate.of(select(None))
    assert estimate.cents < 50
    assert estimate.minutes <= MOST_SECONDS / 60


def test_waiting_for_metrics_counts_once_and_goes_on_while_other_checks_run() -> None:
    assert RunEstimate.of(select([7])).minutes == 6
    assert RunEstimate.of(select([7, 8])).minutes == pytest.approx(6.1)
    assert RunEstimate.of(select([1, 7])).minutes == 6
    assert RunEstimate.of(select([9, 7])).minutes == 8


# Running


def test_what_a_check_raises_is_unknown_and_quotes_no_data() -> None:
    def surprise(_: SmokeRun, __: Cleanup) -> Seen:
        msg = "ada@shop.example"
        raise ValueError(msg)

    def refused(_: SmokeRun, __: Cleanup) -> Seen:
        msg = "the deployment says why"
        raise SettingsError(msg)

    def endless(_: SmokeRun, __: Cleanup) -> Seen:
        raise OSError("x" * 9999)

    run = smoke_run(sound(), {})
    assert len(run_check(check(endless), run).seen.seen) < 500
    assert run_check(check(surprise), run).seen.status is UNKNOWN
    assert "ada" not in run_check(check(surprise), run).seen.seen
    assert run_check(check(refused), run).seen == Seen(UNKNOWN, "the deployment says why")


def test_everything_is_cleaned_up_the_latest_first_however_a_check_ends() -> None:
    done: list[str] = []

    def leave(error: BaseException | None) -> Callable[[SmokeRun, Cleanup], Seen]:
        def run(_: SmokeRun, cleanup: Cleanup) -> Seen:
            cleanup.add("one", lambda: done.append("one"))
            cleanup.add("two", lambda: done.append("two"))
            if error:
                raise error
            return passed("fine")

        return run

    run = smoke_run(sound(), {})
    assert run_check(check(leave(None)), run).seen == passed("fine")
    run_check(check(leave(OSError("gone"))), run)
    with pytest.raises(KeyboardInterrupt):  # a second Ctrl-C
        run_check(check(leave(KeyboardInterrupt())), run)
    assert done == ["two", "one"] * 3


def test_what_cannot_be_cleaned_up_fails_the_check_and_the_rest_is_still_undone() -> None:
    done: list[str] = []

    def broken() -> None:
        msg = "access denied"
        raise SettingsError(msg)

    def leave(_: SmokeRun, cleanup: Cleanup) -> Seen:
        cleanup.add("one", lambda: done.append("one"))
        cleanup.add("an item of Orders", broken)
        return passed("fine")

    result = run_check(check(leave), smoke_run(sound(), {})).seen
    assert (result.status, done) == (FAILED, ["one"])
    assert "left behind: an item of Orders (access denied)" in result.seen
    assert MARK in result.follows


def test_after_an_interruption_nothing_more_is_started() -> None:
    run, started = smoke_run(sound(), {}), []

    def first(run: SmokeRun, _: Cleanup) -> Seen:
        started.append(1)
        run.stop.event.set()
        run.pause(1)
        return passed("never")

    results = [*run_checks([check(first), check(first)], run, lambda _: None)]
    assert [result.seen.status for result in results] == [UNKNOWN] * 2
    assert {result.seen.seen for result in results} == {"the run was interrupted"}
    assert started == [1]


def test_after_twenty_minutes_nothing_more_is_started() -> None:
    waiting = Waiting()
    run = smoke_run(sound(), {}, stop=waiting)

    def slow(run: SmokeRun, _: Cleanup) -> Seen:
        run.wait(lambda: False, 10 * MOST_SECONDS)
        return passed("never")

    results = [*run_checks([check(slow), check(slow)], run, lambda _: None)]
    assert [result.seen.seen for result in results] == ["the 20 minutes of a run were used up"] * 2
    assert {result.seen.follows for result in results} == {"run it alone: --only 1"}
    assert waiting.time < MOST_SECONDS + 10


def test_a_check_that_takes_longer_than_what_is_left_is_not_started() -> None:
    run = smoke_run(sound(), {})
    run.pause(MOST_SECONDS - 90)
    long, short = check(lambda *_: passed("fine"), minutes=2), check(lambda *_: passed("fine"))
    results = [*run_checks([long, short], run, lambda _: None)]
    assert [result.seen.seen for result in results] == [
        "too few of the 20 minutes of a run were left",
        "fine",
    ]


# Scratch items


def route(source: str) -> Route:
    by_name = {route.source.name: route for route in routes(registry(), {}).values()}
    return by_name[source]


LENIENT = ("Products",)  # their view fails for no change of one attribute


@pytest.mark.parametrize("source", [source.name for source in registry().sources])
def test_a_scratch_item_and_its_variants_have_keys_of_their_own(source: str) -> None:
    sample = encode_item(ITEMS[source][0])
    item = scratch_item(route(source), sample, MARK)
    assert item.key != route(source).source.key_of(sample)
    changed, poison = changed_item(item, [sample]), poison_item(item)
    assert changed
    assert changed.key == item.key
    assert changed.rows != item.rows
    assert all(MARK in "".join(key) for rows in (item.rows, changed.rows) for key in rows)
    assert bool(poison) == (source not in LENIENT)
    if poison:
        assert route(source).source.key_of(poison) == item.key
        with pytest.raises(RecordError):
            derive(route(source).views, poison, room=ROW_LIMIT)


NUMBERED = """
from adminview import Row, Source, number, view

things = Source("Things", partition_key=number("id"), sort_key="kind")


@view(things)
def thing(item):
    if item["kind"] != "thing":
        raise ValueError(item["kind"])
    yield Row(f"THING#{item['id']}", "IT", data=item.pick("colour"))
"""
SHARED = """
from adminview import Row, Source, view

shared_things = Source("SharedThings", partition_key="id")


@view(shared_things)
def shared_thing(item):
    yield Row(f"COLOUR#{item['colour']}", "IT", data=item.pick("id"))
"""


def other_route(tmp_path: Path, name: str, text: str, source: str) -> Route:
    model = with_view_file(tmp_path / f"{name}.py", text)
    return next(route for route in routes(model, {}).values() if route.source.name == source)


def test_a_numeric_key_gets_a_number_of_its_own(tmp_path: Path) -> None:
    numbered = other_route(tmp_path, "smoke_numbered", NUMBERED, "Things")
    sample = encode_item({"id": 1, "kind": "thing", "colour": "red"})
    item = scratch_item(numbered, sample, MARK)
    assert int(item.key["id"]["N"]) > 10**12
    assert item.key["kind"] == {"S": "thing"}


def test_a_row_that_another_item_could_have_is_never_written(tmp_path: Path) -> None:
    shared = other_route(tmp_path, "smoke_shared", SHARED, "SharedThings")
    with pytest.raises(ScratchError, match="does not contain the key of its item"):
        scratch_item(shared, encode_item({"id": "1", "colour": "red"}), MARK)


# The stage


def test_prod_and_a_protected_stack_are_refused_unless_allowed() -> None:
    here = sound()
    _check_stage(here.deployment(), allow_prod=False)
    here.stacks[SYNC]["description"]["EnableTerminationProtection"] = True
    with pytest.raises(UsageError, match="--allow-prod"):
        _check_stage(here.deployment(), allow_prod=False)
    _check_stage(here.deployment(), allow_prod=True)
    prod = sound()
    prod.stacks = {name.replace("-dev-", "-prod-"): stack for name, stack in prod.stacks.items()}
    with pytest.raises(UsageError, match="--allow-prod"):
        _check_stage(replace(prod.deployment(), stage="prod"), allow_prod=False)


def test_a_deployment_that_does_not_exist_is_named_with_the_command_that_creates_it() -> None:
    missing = replace(sound().deployment(), prefix="smoke-")
    with pytest.raises(SettingsError, match="-c adminview:prefix=smoke-"):
        _check_stage(missing, allow_prod=False)


# The report


RESULTS = [
    SmokeResult(ALL[7], failed("arn:aws:sns:eu-west-1:111122223333:Alarms | x", "do this"), 61.0),
    SmokeResult(ALL[1], passed("3 rows 0.4 s after the put"), 4.0),
]
FACTS = {"region": "eu-west-1", "dollars, at most": 0.02}


def test_the_report_is_a_table_without_account_numbers() -> None:
    lines = markdown(RESULTS, FACTS).splitlines()
    assert lines[0] == "# adminview smoke"
    assert "- dollars, at most: 0.02" in lines
    rows = [line for line in lines if re.match(r"\| \d", line)]
    assert rows[0].startswith("| 1 | An item that is put, changed and deleted")
    assert "| passed (4 s) |" in rows[0]
    assert "arn:aws:sns:eu-west-1:…:Alarms \\| x | do this |" in rows[1]
    assert lines[-1] == "1 passed, 1 failed."


def test_the_report_in_json_has_the_same() -> None:
    data = as_data(RESULTS, FACTS, 1)
    assert (data["status"], data["counts"]["failed"]) == (1, 1)
    assert [entry["number"] for entry in data["checks"]] == [1, 7]
    assert set(data["checks"][0]) == {
        *("number", "title", "status", "expected", "seen", "follows", "seconds"),
    }
    assert "111122223333" not in json.dumps(data)


def test_the_cost_grows_with_calls_and_bytes() -> None:
    none = dollars({}, 0)
    assert none == 0
    large = dollars({"dynamodb:PutItem": 30}, 3_000_000)
    assert 0 < dollars({"dynamodb:PutItem": 30}, 3000) < large < 0.5
    assert dollars({"cloudwatch:GetMetricData": 100}, 0) > 0.01


def test_the_list_names_every_check() -> None:
    done = CliRunner().invoke(app, ["smoke", "--list"])
    assert done.exit_code == 0
    for listed in ALL.values():
        assert f"| {listed.number} | {listed.title} | {listed.expected} |" in done.output


def test_a_number_that_is_none_is_a_usage_error() -> None:
    done = CliRunner().invoke(app, ["smoke", "--only", "x"])
    assert (done.exit_code, "not the number of a check" in done.output) == (2, True)


def test_the_command_prints_the_report_and_exits_with_its_status(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results = iter([passed("fine"), failed("not fine", "do this")])

    checks = [replace(ALL[number], run=lambda *_: next(results)) for number in (1, 3)]
    monkeypatch.setattr(command, "select", lambda _: checks)
    monkeypatch.setattr(command, "_prepare", lambda *_: smoke_run(sound(), {}))
    monkeypatch.setattr(command, "_deployer", lambda _: None)
    monkeypatch.setattr(command, "_check_stage", lambda *_, **__: None)
    done = CliRunner().invoke(app, ["smoke", "--json"])
    data = json.loads(done.stdout)
    assert (done.exit_code, data["counts"]["passed"], data["counts"]["failed"]) == (1, 1, 1)
    assert "2 checks of smoke-dev: about" in done.stderr
    results = iter([passed("fine"), passed("fine too")])
    done = CliRunner().invoke(app, ["smoke"])
    assert done.exit_code == 0
    assert done.stdout.startswith("# adminview smoke")


# Documents


def test_the_page_lists_the_checks_as_they_are() -> None:
    assert listing([*ALL.values()]) in (ROOT / "docs" / "smoke.md").read_text()


REFERENCE = re.compile(r"\[check (\d+)\]\((?:docs/)?smoke\.md\)")
DESIGN = (ROOT / "DESIGN.md").read_text()


def test_the_design_names_the_check_of_each_assumption() -> None:
    named = {int(number) for number in REFERENCE.findall(DESIGN)}
    assert named == ALL.keys()


def test_no_other_list_of_assumptions_remains() -> None:
    pages = [ROOT / "DESIGN.md", ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    words = re.compile(
        r"not (?:yet )?(?:verified|seen|tested|checked) on aws|aws does not document the following"
        r"|has to check each",
        re.IGNORECASE,
    )
    for page in pages:
        assert words.findall(page.read_text()) == [], page.name
