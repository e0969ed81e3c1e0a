"""The order of a plan's steps, and what it refuses."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminview.aws.table_description import TableIndex
from adminview.bulk.completions import Marker
from adminview.cdk.options.rollout_phase import RolloutPhase
from adminview.cli.deployment.facts import Deployed, RowCounts
from adminview.cli.model_lock.model_diff import Description
from adminview.cli.planning.planner import make_plan
from adminview.cli.planning.refusals import in_use
from adminview.cli.planning.steps import Phase, phase_of
from adminview.model import LocalIndex, Total
from tests.support.model import registry
from tests.support.plan_simulator import World, index, model, question

STATUS = index("ByStatus", "status", "day")
WIDER = index("ByStatus2", "status", "day", include=("data", "_at"))
CITY = index("ByCity", "city")
DAY = index("ByDay", "bought")
OLD = model(
    {"Orders": "o1", "Users": "u1", "Products": "p1"},
    (STATUS, CITY),
    (question("by-status", STATUS), question("of-city", CITY), question("one")),
)
NEW = model(
    {"Orders": "o2", "Users": "u2", "Products": "p1"},
    (WIDER, DAY),
    (question("by-status", WIDER), question("of-day", DAY), question("one")),
)


def deployed(old: Description = OLD) -> World:
    """Deploy a model, some time ago."""
    world = World()
    world.reach(old)
    world.now += 1000
    return world


def titles(world: World, new: Description) -> list[str]:
    plan = world.plan(new)
    assert plan.refusals == ()
    return [step.title for step in plan.steps]


def refused(new: Description, old: Description = OLD) -> str:
    plan = deployed(old).plan(new)
    assert plan.steps == ()
    return " / ".join(plan.refusals)


def test_an_index_is_added_another_changed_and_a_third_dropped_in_the_right_order() -> None:
    assert titles(deployed(), NEW) == [
        "create index ByStatus2, and wait until it is active",
        "create index ByDay, and wait until it is active",
        (
            "deploy the API: refuse of-day until backfilled; keep by-status on ByStatus until "
            "then; remove of-city"
        ),
        "deploy the views: the sync function and the repair functions",
        "deploy the alarms and the dashboard",
        "wait 300 seconds",
        "backfill Orders",
        "backfill Users",
        "deploy the API: switch on by-status, of-day",
        "wait 30 seconds",
        "drop index ByStatus",
        "drop index ByCity",
        "sweep the rows of Orders, Users",
    ]


def test_the_waves_say_what_is_there_and_what_is_not_yet() -> None:
    steps = deployed().plan(NEW).steps
    phases = [step.phase.data() for step in steps if step.stacks]
    kept = [[index_["name"] for index_ in phase["keep"]] for phase in phases]
    both, city = ["ByStatus", "ByCity"], ["ByCity"]
    watch: list[str] = []  # nobody is called for what is about to go
    assert kept == [both, both, both, both, watch, both, city, []]
    assert [phase["without"] for phase in phases] == [["ByDay"], [], [], [], [], [], [], []]
    assert [phase["pending"] for phase in phases][2:6] == [
        {"by-status": "ByStatus", "of-day": None},
        {"by-status": "ByStatus", "of-day": None},
        {},
        {},
    ]


def test_on_the_first_deployment_all_patterns_are_rejected_until_all_is_filled() -> None:
    assert titles(World(), NEW) == [
        "create the tables of Orders, Users, Products",
        "create the view table with all its indexes",
        "deploy the views: the sync function and the repair functions",
        "deploy the API: refuse by-status, of-day, one until backfilled",
        "deploy the alarms and the dashboard",
        "backfill Orders",
        "backfill Users",
        "backfill Products",
        "deploy the API: switch on by-status, of-day, one",
    ]


SUMMED = model(
    {"Orders": "o2", "Users": "u1", "Products": "p1"},
    (STATUS, DAY),
    (question("by-status", STATUS), question("of-day", DAY), question("one")),
    (Total("DailySales", sort="day").shape(),),
)


def test_totals_are_followed_before_anything_contributes_to_them() -> None:
    plan = deployed().plan(SUMMED)
    assert [step.title for step in plan.steps][:5] == [
        "turn on the stream of the view table",
        "create the totals table and the totals function",
        "create index ByDay, and wait until it is active",
        "deploy the API: refuse of-day until backfilled; remove of-city",
        "deploy the views: the sync function and the repair functions",
    ]
    on, totals, *_ = plan.steps
    assert (on.stacks, totals.stacks) == (("View",), ("Totals",))
    assert (on.phase.without, [index_.name for index_ in on.phase.keep]) == (("ByDay",), ["ByCity"])
    assert not any(step.phase.keep_totals for step in plan.steps), "they are declared"


def test_on_the_first_day_totals_are_followed_too() -> None:
    assert titles(World(), SUMMED)[:4] == [
        "create the tables of Orders, Users, Products",
        "create the view table with all its indexes",
        "create the totals table and the totals function",
        "deploy the views: the sync function and the repair functions",
    ]


def test_an_index_that_is_under_way_comes_before_the_stream() -> None:
    """DynamoDB takes one change of a table at a time."""
    world = deployed()
    indexes = [replace(index_, status="CREATING") for index_ in world.deployed.indexes or ()]
    world.deployed = replace(world.deployed, indexes=tuple(indexes[:1]))
    assert titles(world, SUMMED)[:2] == [
        "wait until index ByStatus is active",
        "turn on the stream of the view table",
    ]


def test_without_its_last_total_a_model_keeps_the_stream_and_the_stack() -> None:
    """Rows that contributed are backfilled, and what they take back must be added up."""
    world = deployed(SUMMED)
    plan = world.plan(OLD)
    deploying = [step for step in plan.steps if {"View", "Sync", "Api"} & {*step.stacks}]
    assert len(deploying) >= 3
    assert all(step.phase.keep_totals for step in deploying)
    assert all(step.phase.data()["keepTotals"] for step in deploying)
    assert any("delete that stack and its table" in note for note in plan.notes)
    world.reach(OLD)
    assert (world.deployed.stream, world.deployed.totals) == (True, True)
    assert world.plan(OLD).steps == ()
    assert titles(world, SUMMED)[0] == "create index ByDay, and wait until it is active"


def test_when_the_stack_is_deleted_the_stream_is_turned_off() -> None:
    world = deployed(SUMMED)
    world.reach(OLD)
    world.deployed = replace(world.deployed, totals=False)
    plan = world.plan(OLD)
    assert [step.title for step in plan.steps] == ["turn off the stream of the view table"]
    assert plan.destroyed == {"turn off the stream of the view table"}
    assert plan.notes == ()
    world.reach(OLD)
    assert not world.deployed.stream


def test_a_stream_is_turned_off_after_all_else_and_alone() -> None:
    world = deployed(SUMMED)
    world.deployed = replace(world.deployed, totals=False)
    done = world.reach(OLD)
    assert done[-1].title == "turn off the stream of the view table"
    assert [step.title for step in done].count(done[-1].title) == 1


def test_where_nothing_differs_there_is_nothing_to_do() -> None:
    assert deployed().plan(OLD).steps == ()


def test_a_source_that_this_code_did_not_build_is_still_to_be_built() -> None:
    world = deployed()
    world.deployed = replace(world.deployed, markers={"Orders": Marker("m", "o1")})
    assert titles(world, OLD) == ["backfill Users", "backfill Products"]


def test_a_marker_is_not_believed_where_other_code_runs() -> None:
    """Somebody rolled the functions back without a plan: their rows are of two kinds."""
    world = deployed()
    world.deployed = replace(world.deployed, sync=NEW, recovery=NEW["fingerprint"])
    assert "backfill Orders" in titles(world, OLD)


def test_alarms_on_another_model_or_none_are_deployed_again() -> None:
    for watch in (None, "older"):
        world = deployed()
        world.deployed = replace(world.deployed, watch=watch)
        assert titles(world, OLD) == ["deploy the alarms and the dashboard"]


def test_functions_of_which_one_is_older_are_deployed_again() -> None:
    world = deployed()
    world.deployed = replace(world.deployed, recovery="older")
    assert titles(world, OLD) == ["deploy the views: the sync function and the repair functions"]


def test_a_new_pattern_that_could_show_old_rows_waits_for_the_sweep() -> None:
    new = model({"Orders": "o2"}, (STATUS,), (question("by-status", STATUS), question("new")))
    old = model({"Orders": "o1"}, (STATUS,), (question("by-status", STATUS),))
    done = titles(deployed(old), new)
    assert done[-2:] == ["sweep the rows of Orders", "deploy the API: switch on new"]
    world = deployed(old)
    for step in world.plan(new).steps[:4]:  # up to the backfill
        world.carry_out(step, new)
    assert titles(world, new) == done[-2:]


def test_older_rows_without_a_recorded_sweep_are_swept_once() -> None:
    world = deployed()
    older = RowCounts({("Orders", "older"): 3, ("Gone", "older"): 1})
    world.deployed = replace(world.deployed, rows=older)
    assert titles(world, OLD) == ["sweep the rows of Orders, Gone"]
    world.deployed = replace(world.deployed, sweeps={"Orders": None}, rows=RowCounts())
    assert titles(world, OLD) == []


def test_a_worker_of_the_old_model_is_outlasted() -> None:
    world = deployed()
    marker = {"Orders": Marker("", "")}
    facts = replace(world.deployed, markers=marker, busy_until=world.now + 40)
    assert make_plan(facts, OLD, world.now).steps[0].title == "wait 40 seconds"


def test_an_index_under_way_is_awaited_before_another_is_touched() -> None:
    world = deployed()
    world.carry_out(world.plan(NEW).steps[0], NEW, half=True)
    assert titles(world, NEW)[0] == "wait until index ByStatus2 is active"
    gone = [replace(index_, status="DELETING") for index_ in world.deployed.indexes or ()][:1]
    world.deployed = replace(world.deployed, indexes=(*gone, *(world.deployed.indexes or ())[1:]))
    assert titles(world, OLD)[:1] == ["wait until index ByStatus is deleted"]


def changed(**parts: Any) -> Description:
    """Change the old model a little."""
    description: dict[str, Any] = {
        "code": {"Orders": "o2", "Users": "u1", "Products": "p1"},
        "indexes": (STATUS, CITY),
        "questions": (question("by-status", STATUS), question("of-city", CITY), question("one")),
    } | parts
    return model(description["code"], description["indexes"], description["questions"])


TWENTY = tuple(index(f"Index{number}", f"a{number}", include=()) for number in range(20))
LOCAL = LocalIndex("Local", sort="at").shape()
MANY = tuple(f"i{number}" for number in range(20))


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (
            changed(indexes=(index("ByStatus", "status", "other"), CITY)),
            "index 'ByStatus' is declared with another key or projection.* give it a new name",
        ),
        (changed(indexes=(STATUS, CITY, LOCAL)), "local index 'Local' does not exist"),
        (
            changed(indexes=(STATUS, CITY, *TWENTY[:18])),
            "together are 21; DynamoDB allows 20: declare",
        ),
        (
            changed(indexes=TWENTY[:18], questions=()),
            "together are 21; .* drop some of ByCity, ByStat",
        ),
        (
            changed(indexes=tuple(index(f"In{n}", f"k{n}", include=MANY) for n in range(5))),
            "together include 102 attributes; DynamoDB allows 100: drop some of ByCity, ByStatus",
        ),
        (
            changed(indexes=(CITY, {**DAY, "partition": [["status", "N"]]}), questions=()),
            "attribute 'status' is S in index 'ByStatus' and N in index 'ByDay'",
        ),
        (
            changed(questions=(question("by-status", STATUS, condition="X#{it}"),)),
            "access pattern 'by-status' has another condition .* Declare it under a new name",
        ),
        (
            changed(questions=({**question("by-status", STATUS), "joins": [{"name": "x"}]},)),
            "access pattern 'by-status' has other joins .* Declare it under a new name",
        ),
        (
            changed(indexes=(STATUS, CITY, DAY), questions=(question("by-status", CITY),)),
            "access pattern 'by-status' has another condition",
        ),
        (
            changed(
                indexes=(CITY, index("Status", "status")),
                questions=(question("by-status", index("Status", "status")),),
            ),
            "'by-status' moves from index 'ByStatus' to index 'Status', which has another key",
        ),
        (
            changed(code={"Orders": "o2", "Users": "u1", "Shipments": "s1"}),
            r"tables are added \(Shipments\) and removed \(Products\) in one change",
        ),
    ],
)
def test_a_change_that_would_answer_wrongly_is_refused_and_says_what_to_do(
    new: Description, reason: str
) -> None:
    assert re.search(reason, refused(new)), refused(new)


def test_a_local_index_cannot_be_dropped() -> None:
    old = model({"Orders": "o1"}, (LOCAL,))
    assert "DynamoDB cannot delete it" in refused(model({"Orders": "o1"}), old)


def test_a_source_cannot_change_its_key() -> None:
    new = changed()
    new["sources"][0]["key"] = [["other", "S"]]
    assert "source 'Orders' is declared with another key" in refused(new)


def test_rows_in_shards_that_no_query_reads_are_not_lost() -> None:
    eight = index("Hot", "h", shards=8)
    old = model({"Orders": "o1"}, (eight,), (question("hot", eight),))
    fewer, read = index("Hot", "h", shards=2), index("Hot", "h", shards=2, shards_were=8)
    forgotten = model({"Orders": "o2"}, (fewer,), (question("hot", fewer),))
    assert "declare shards_were=8 until all rows are backfilled" in refused(forgotten, old)
    kept = model({"Orders": "o2"}, (read,), (question("hot", read),))
    assert "backfill Orders" in titles(deployed(old), kept)
    assert titles(deployed(kept), forgotten)  # once all rows are built, nobody need look there


def test_an_index_made_by_hand_is_left_alone_unless_it_is_declared() -> None:
    world = deployed()
    foreign = replace(TableIndex.of(DAY), ours=False)
    facts = replace(world.deployed, indexes=(*(world.deployed.indexes or ()), foreign))
    plan = make_plan(facts, OLD, world.now)
    assert plan.steps == ()
    assert plan.notes == ("index ByDay was not created by the View stack: it is not changed",)
    assert "the View stack did not create it" in make_plan(facts, NEW, world.now).refusals[0]


def test_a_pattern_whose_index_was_deleted_is_backfilled_again() -> None:
    world = deployed()
    left = tuple(index_ for index_ in world.deployed.indexes or () if index_.name != "ByStatus")
    world.deployed = replace(world.deployed, indexes=left)
    moved = model(OLD["code"] | {"Orders": "o2"}, (WIDER, CITY), (question("by-status", WIDER),))
    assert "refuse by-status until backfilled" in titles(world, moved)[1]


def test_an_index_is_in_use_while_a_pattern_uses_it() -> None:
    facts = Deployed(api=NEW, pending={"by-status": "ByStatus", "of-day": None})
    assert in_use(facts, "ByStatus") == ["by-status"]
    assert in_use(facts, "ByDay") == in_use(facts, "ByStatus2") == []


def test_the_cdk_app_reads_the_waves_that_a_plan_writes() -> None:
    shop = registry()
    declared = {index_["name"]: TableIndex.of(index_) for index_ in shop.description()["indexes"]}
    older = TableIndex.of(index("Older", "GSI1_PK", "GSI1_SK", include=("data", "_at")))
    there = [index_ for name, index_ in declared.items() if name != "GSI3"]
    phase = phase_of([*there, older], declared, {"orders-by-status": "Older"})
    with phase.file() as file:
        read = RolloutPhase.read(str(file), shop)
        assert json.loads(Path(file).read_text()) == phase.data()
    assert {index_.name for index_ in read.indexes(shop)} == set(phase.indexes(declared))
    assert read.pending == {"orders-by-status": "Older"}
    assert read.without == {"GSI3"}
    assert not file.exists()
    assert Phase().data() == {"keep": [], "without": [], "pending": {}}
