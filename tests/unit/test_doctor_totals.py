"""The doctor finds what is wrong with deployed totals, and prints the correction."""

from collections.abc import Callable
from typing import Any

import pytest

from adminview.cli.doctor.finding import State
from adminview.model import Total
from tests.support.aws_descriptions import stream
from tests.support.deployment import SYNC, TOTALS, Deployment, sound, with_totals
from tests.support.model import registry

WARNING, PROBLEM = State.WARNING, State.PROBLEM
TABLE, MAPPING = "totals AdminViewTotals", "mapping of the totals"
RESTORE = "npx cdk deploy AdminView-dev-Totals -c adminview:stage=dev --exclusively --revert-drift"
REBUILD = "docs/runbook.md#totals-silence"

Break = Callable[[Deployment], object]


def test_totals_in_order_are_ok_in_everything() -> None:
    findings = with_totals().examine()
    assert [
        (finding.name, finding.summary)
        for finding in findings.values()
        if finding.state is not State.OK
    ] == []
    assert {
        f"stack {TOTALS}",
        TABLE,
        MAPPING,
        "function TotalsFunction",
        "role TotalsRole",
    } == findings.keys() - sound().examine().keys()


def mapping(**changes: Any) -> Break:
    return lambda here: here.mappings["id-totals"].update(changes)


def view(**changes: Any) -> Break:
    return lambda here: here.tables["AdminViewTable"].update(changes)


def expiry(**changes: Any) -> Break:
    return lambda here: here.expiry["AdminViewTotals"].update(changes)


def index(**changes: Any) -> Break:
    return lambda here: here.tables["AdminViewTotals"]["GlobalSecondaryIndexes"][0].update(changes)


def allowed(*actions: str) -> Break:
    def change(here: Deployment) -> None:
        (statement,) = here.roles["totals-role"]["LeastPrivilege"]["Statement"]
        statement["Action"] = [*actions]

    return change


NO_STREAM: dict[str, Any] = {"StreamSpecification": None, "LatestStreamArn": None}
KEYS_ONLY = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
FAULTS: dict[str, tuple[Break, str, State, str, str]] = {
    "no stream": (view(**NO_STREAM), MAPPING, PROBLEM, "has no stream: no change", REBUILD),
    "another image": (
        view(StreamSpecification=KEYS_ONLY),
        *(MAPPING, PROBLEM, "carries KEYS_ONLY", REBUILD),
    ),
    "a new stream": (
        view(LatestStreamArn=stream("AdminViewTable", "later")),
        *(MAPPING, PROBLEM, "but the table's stream is", REBUILD),
    ),
    "disabled": (
        mapping(State="Disabled"),
        *(MAPPING, PROBLEM, "it is Disabled: no change reaches the totals", "--uuid id-totals"),
    ),
    "deleted": (
        lambda here: here.mappings.pop("id-totals"),
        *(MAPPING, PROBLEM, "deleted: no change reaches the totals", RESTORE),
    ),
    "failing": (
        mapping(LastProcessingResult="PROBLEM: Function call failed"),
        *(MAPPING, PROBLEM, "the last batch failed", "log of totals"),
    ),
    "a filter": (
        mapping(FilterCriteria={"Filters": [{"Pattern": "{}"}]}),
        *(MAPPING, PROBLEM, "it has a filter", "a new epoch of each total"),
    ),
    "no window": (
        mapping(TumblingWindowInSeconds=0),
        *(MAPPING, PROBLEM, "TumblingWindowInSeconds is 0, but 900 was deployed", RESTORE),
    ),
    "several batches of a shard": (
        mapping(ParallelizationFactor=2),
        *(MAPPING, PROBLEM, "ParallelizationFactor is 2, but 1 was deployed", RESTORE),
    ),
    "a destination": (
        mapping(DestinationConfig={"OnFailure": {"Destination": "arn:queue"}}),
        *(MAPPING, PROBLEM, "OnFailure destination is arn:queue, but None", RESTORE),
    ),
    "another function": (
        mapping(FunctionArn="arn:aws:lambda:eu-west-1:111122223333:function:mine"),
        *(MAPPING, PROBLEM, "function is mine, but totals was deployed", RESTORE),
    ),
    "no table": (
        lambda here: here.tables.pop("AdminViewTotals"),
        *(TABLE, PROBLEM, "does not exist", "a new epoch of each total"),
    ),
    "another key": (
        lambda here: here.tables["AdminViewTotals"]["KeySchema"].pop(),
        *(TABLE, PROBLEM, "its key is PK: this table is not a totals table", "deployment"),
    ),
    "no expiry": (
        expiry(TimeToLiveStatus="DISABLED"),
        *(TABLE, WARNING, "its TTL is DISABLED: empty totals stay", RESTORE),
    ),
    "expiry of something else": (
        expiry(AttributeName="rank"),
        *(TABLE, PROBLEM, "its TTL is on rank, not on expires: it deletes totals", RESTORE),
    ),
    "no ranking": (
        lambda here: here.tables["AdminViewTotals"]["GlobalSecondaryIndexes"].clear(),
        *(TABLE, PROBLEM, "index Ranking is deleted: ranked queries fail", RESTORE),
    ),
    "a ranking that is created": (
        index(IndexStatus="CREATING"),
        *(TABLE, WARNING, "index Ranking is CREATING", "run this again"),
    ),
    "another ranking": (
        index(Projection={"ProjectionType": "ALL"}),
        *(TABLE, PROBLEM, "index Ranking has another key or projection", RESTORE),
    ),
    "a table that is created": (
        lambda here: here.tables["AdminViewTotals"].update(TableStatus="CREATING"),
        *(TABLE, PROBLEM, "it is CREATING", "run this again"),
    ),
    "less than was allowed": (
        allowed("dynamodb:Query"),
        *("role TotalsRole", WARNING, "dynamodb:UpdateItem on", RESTORE),
    ),
    "more than was allowed": (
        allowed("dynamodb:UpdateItem", "dynamodb:PutItem"),
        *("role TotalsRole", WARNING, "permissions were added by hand: dynamodb:PutItem", RESTORE),
    ),
    "no function": (
        lambda here: here.functions.pop("totals"),
        *("function TotalsFunction", PROBLEM, "it is deleted", RESTORE),
    ),
}


@pytest.mark.parametrize(
    ("break_it", "where", "state", "seen", "advice"), FAULTS.values(), ids=FAULTS
)
def test_what_is_wrong_is_named_with_what_to_do_and_nothing_else_is(
    break_it: Break, where: str, state: State, seen: str, advice: str
) -> None:
    here = with_totals()
    break_it(here)
    findings = here.examine()
    assert [name for name, finding in findings.items() if finding.state is not State.OK] == [where]
    assert findings[where].state is state
    assert seen in findings[where].summary
    assert any(advice in line for line in findings[where].advice)


def test_a_sync_mapping_with_a_window_is_found() -> None:
    here = sound()
    here.mappings["id-Orders"]["TumblingWindowInSeconds"] = 60
    finding = here.examine()["mapping of Orders"]
    assert "TumblingWindowInSeconds is 60, but 0 was deployed" in finding.summary


def test_a_model_with_totals_needs_their_stack() -> None:
    here = sound()
    function = here.stacks[SYNC]["template"]["Resources"]["SyncFunction01234567"]
    model = registry().description() | {"totals": [Total("DailySales").shape()]}
    function["Metadata"]["AdminViewModel"] = model
    finding = here.examine()[f"stack {TOTALS}"]
    assert (finding.state, finding.summary) == (
        PROBLEM,
        "it does not exist in this account and region",
    )
