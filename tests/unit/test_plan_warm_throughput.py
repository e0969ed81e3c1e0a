"""A plan says when the view takes too few writes at once, and can raise that first."""

from dataclasses import replace
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from adminview.cli.costing.prices import Prices
from adminview.cli.deployment.facts import Deployed
from adminview.cli.deployment.read import Tables
from adminview.cli.planning.cdk import CdkDeployer
from adminview.cli.planning.planner import make_plan
from adminview.cli.planning.steps import BackfillStep, CreateIndex, Plan, WarmUp
from tests.support.plan_simulator import World
from tests.unit.test_plan import NEW, OLD

MILLIONS = 60_000_000
KEY = [{"AttributeName": "GSI1_PK", "KeyType": "HASH"}]


def deployed(warm: int = 4_000, **items: int) -> Deployed:
    """Deploy the older model on a table with this warm throughput."""
    world = World()
    world.reach(OLD)
    facts = world.deployed
    indexes = tuple(replace(index, warm_writes=warm) for index in facts.indexes or ())
    return replace(facts, warm_writes=warm, indexes=indexes, items=items)


def plan(facts: Deployed, peak: int | None = None) -> Plan:
    planned = make_plan(facts, NEW, 2_000_000.0, peak=peak)
    assert planned.refusals == ()
    return planned


def warm_ups(planned: Plan) -> list[WarmUp]:
    return [step for step in planned.steps if isinstance(step, WarmUp)]


def test_a_backfill_that_takes_hours_is_a_note_with_the_option() -> None:
    (note,) = plan(deployed(Orders=MILLIONS, Users=1000)).notes
    assert note == (
        "Orders has about 60,000,000 items, and the view takes 4,000 write units per second at "
        "once: the backfill takes at least 4.2 hours, or is throttled. To write faster, add "
        "--peak-wcu, which raises the warm throughput first"
    )


@pytest.mark.parametrize(
    ("facts", "peak"),
    [
        (deployed(Orders=14_000_000), None),  # less than an hour
        (deployed(40_000, Orders=MILLIONS), None),  # warm enough
        (deployed(Products=MILLIONS), None),  # not backfilled
        (deployed(0, Orders=MILLIONS), None),  # an engine that reports none
        (deployed(Orders=MILLIONS), 20_000),  # raised first
    ],
)
def test_there_is_no_note_if_nothing_needs_it(facts: Deployed, peak: int | None) -> None:
    assert plan(facts, peak).notes == ()


def test_the_step_states_what_aws_charges_once() -> None:
    (step,) = warm_ups(plan(deployed(Orders=MILLIONS), 20_000))
    parts = 1 + len(step.indexes)
    dollars = parts * 16_000 / 1000 * Prices().warm_throughput
    assert f"AWS charges once for the increase, about ${dollars:,.2f} in us-east-1" in step.reason


def test_what_takes_enough_already_costs_nothing() -> None:
    facts = deployed(40_000, Orders=MILLIONS)
    assert facts.indexes
    first, *others = facts.indexes
    slow = replace(facts, indexes=(replace(first, warm_writes=19_000), *others))
    (step,) = warm_ups(plan(slow, 20_000))
    dollars = (1_000 + 2 * 16_000) / 1000 * Prices().warm_throughput  # two indexes are created
    assert f"about ${dollars:,.2f} in" in step.reason


def test_one_index_that_takes_less_than_the_table_slows_the_backfill() -> None:
    facts = deployed(40_000, Orders=MILLIONS)
    assert facts.indexes
    first, *others = facts.indexes
    slow = replace(facts, indexes=(replace(first, warm_writes=4_000), *others))
    assert "takes 4,000 write units" in plan(slow).notes[0]
    (step,) = warm_ups(plan(slow, 20_000))
    assert not step.table
    # The indexes that the plan creates take as much as any new one.
    assert step.indexes == (first.name, "ByStatus2", "ByDay")


def test_warm_throughput_is_raised_after_indexes_exist_and_before_rows_are_written() -> None:
    planned = plan(deployed(), 20_000)
    (step,) = warm_ups(planned)
    place = planned.steps.index(step)
    assert all(isinstance(step, CreateIndex) for step in planned.steps[:place])
    assert not [step for step in planned.steps[:place] if isinstance(step, BackfillStep)]
    assert step.table
    assert step.title.endswith("to 20,000 write units")
    assert step.reason.startswith("the view takes 4,000 at once")
    assert {"ByStatus", "ByStatus2", "ByDay", "Owner"} <= {*step.indexes}


@pytest.mark.parametrize("warm", [20_000, 30_000])
def test_nothing_is_raised_that_is_warm_enough(warm: int) -> None:
    facts = deployed(warm)
    assert [step.indexes for step in warm_ups(plan(facts, 4_000))] == []
    # The new indexes are not.
    assert [step.indexes for step in warm_ups(plan(facts, 20_000))] == [("ByStatus2", "ByDay")]


def test_a_new_table_takes_four_thousand() -> None:
    assert warm_ups(make_plan(Deployed(), OLD, 0.0, peak=4_000)) == []
    (step,) = warm_ups(make_plan(Deployed(), OLD, 0.0, peak=4_001))
    assert step.table


def described(*units: int) -> dict[str, Any]:
    """Describe a table with one index, as DynamoDB does."""
    table, index = (
        {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": number} for number in units
    )
    status = {"KeySchema": KEY, "Projection": {"ProjectionType": "ALL"}, "IndexStatus": "ACTIVE"}
    return {
        "TableName": "AdminViewTable",
        "TableStatus": "UPDATING",
        "WarmThroughput": {**table, "Status": "UPDATING"},
        "GlobalSecondaryIndexes": [{"IndexName": "GSI1", **status, "WarmThroughput": index}],
    }


def test_the_step_is_one_call_and_waits_until_dynamodb_has_done_it() -> None:
    client = boto3.client("dynamodb", region_name="eu-west-1")
    requested = {"WarmThroughput": {"WriteUnitsPerSecond": 20_000}}
    slept: list[float] = []
    with Stubber(client) as stub:
        stub.add_response(
            "update_table",
            {},
            {
                "TableName": "AdminViewTable",
                **requested,
                "GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "GSI1", **requested}}],
            },
        )
        for units in ((4_000, 4_000), (20_000, 8_000), (20_000, 20_000)):
            stub.add_response("describe_table", {"Table": described(*units)})
        tables = Tables(client, "AdminViewTable", lambda: 0.0)
        deployer = CdkDeployer("prod", "", tables, sleep=slept.append)
        step = WarmUp(reason="", units=20_000, table=True, indexes=("GSI1",))
        deployer.warm_up(step, stopped=lambda: False)
        stub.assert_no_pending_responses()
    assert len(slept) == 2
