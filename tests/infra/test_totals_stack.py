"""Totals: a stream of the view, a function that follows it, and a table that it alone updates."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from adminview.aws.settings import TotalsSettings
from adminview.cdk import AdminView
from adminview.cdk import bundle as bundling
from adminview.cdk.constructs.totals import TIMEOUT_SECONDS
from adminview.model import Registry
from adminview.model.delivery import (
    GIVE_UP_SECONDS,
    RETENTION_SECONDS,
    TOTALS_DELIVERY,
    TOTALS_GIVE_UP_SECONDS,
)
from adminview.model.errors import SettingsError
from tests.infra.alarms import dashboard, watched
from tests.infra.roles import held
from tests.infra.test_tables import key_schema, protection, terminable, types
from tests.support import totals_views
from tests.support.synthesis import Assembly, imported, synthesize
from tests.support.view_files import load_view_file

MODEL = Registry.of([totals_views])
FUNCTION, MAPPING = "AWS::Lambda::Function", "AWS::Lambda::EventSourceMapping"
VIEW, TOTALS = "AdminViewTable", "AdminViewTotals"
PLAIN = """
from adminview import Item, Row, Source, view

orders = Source("Orders", partition_key="id")


@view(orders)
def order(item: Item):
    yield Row("ORDER", item["id"])
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    """Declare a model of the same source without totals."""
    return Registry.of([load_view_file(tmp_path_factory.mktemp("views") / "plain.py", PLAIN)])


def test_without_totals_there_is_neither_a_stream_nor_a_stack(
    plain: Registry, tmp_path: Path
) -> None:
    assembly = synthesize(plain, tmp_path)
    assert "AdminView-dev-Totals" not in assembly.templates
    assert TOTALS not in assembly.tables()
    assert "StreamSpecification" not in assembly.tables()[VIEW]["Properties"]
    assert not [name for name in watched(assembly) if name.startswith("totals")]
    for function in ("Api", "Verify"):
        assert not [on for _, on in held(assembly, f"{function}Role") if "Totals" in on]


def test_the_views_stream_has_both_images(totals: Assembly) -> None:
    view = totals.tables()[VIEW]["Properties"]
    assert view["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}


def test_the_totals_table_has_a_ranking_and_deletes_what_expires(totals: Assembly) -> None:
    table = totals.tables()[TOTALS]["Properties"]
    assert key_schema(table) == [("PK", "HASH"), ("SK", "RANGE")]
    assert types(table) == {"PK": "S", "SK": "S", "rank": "N"}
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expires", "Enabled": True}
    (ranking,) = table["GlobalSecondaryIndexes"]
    assert (ranking["IndexName"], key_schema(ranking)) == (
        "Ranking",
        [("PK", "HASH"), ("rank", "RANGE")],
    )
    assert ranking["Projection"] == {"ProjectionType": "KEYS_ONLY"}
    assert "StreamSpecification" not in table


def test_totals_are_kept_as_the_stage_says(totals: Assembly, prod_totals: Assembly) -> None:
    assert protection(totals.tables()[TOTALS]) == ("Delete", "Delete", False, False)
    prod = prod_totals.tables()[TOTALS]
    assert protection(prod) == ("Retain", "Retain", True, True)
    assert terminable(totals)["Totals"]
    assert not terminable(prod_totals)["Totals"]


def test_the_view_is_delivered_in_windows_and_to_nobody_when_it_fails(totals: Assembly) -> None:
    mapping = totals.mappings()[f"{VIEW}.StreamArn"]
    settings = mapping.keys() - {"Tags", "EventSourceArn", "FunctionName"}
    assert {name: mapping[name] for name in settings} == {
        "StartingPosition": "TRIM_HORIZON",
        "MetricsConfig": {"Metrics": ["EventCount"]},
        "BatchSize": TOTALS_DELIVERY.batch_size,
        "MaximumBatchingWindowInSeconds": TOTALS_DELIVERY.window_seconds,
        "TumblingWindowInSeconds": TOTALS_DELIVERY.tumbling_seconds,
        "ParallelizationFactor": 1,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "BisectBatchOnFunctionError": True,
        "MaximumRetryAttempts": -1,
        "MaximumRecordAgeInSeconds": TOTALS_GIVE_UP_SECONDS,
    }
    assert mapping["TumblingWindowInSeconds"] > 0, "or no event names its shard"
    assert totals.name(mapping["FunctionName"]) == "TotalsFunction"
    assert len(asdict(TOTALS_DELIVERY)) == 7, "a new rule of delivery has to reach the mapping"


def test_lambda_drops_old_records_before_the_stream_does_so_that_they_are_counted() -> None:
    """DroppedEventCount leaves out records that expire in the stream."""
    assert GIVE_UP_SECONDS < TOTALS_GIVE_UP_SECONDS < RETENTION_SECONDS - TIMEOUT_SECONDS
    assert TOTALS_DELIVERY.max_age_seconds == TOTALS_GIVE_UP_SECONDS


def test_the_function_knows_its_table_and_not_the_model(totals: Assembly) -> None:
    function = totals.function("Totals")
    assert function["Handler"] == "lambdas.totals.handler"
    assert (function["MemorySize"], function["Timeout"]) == (512, 120)
    variables = dict(function["Environment"]["Variables"])
    assert variables.pop("POWERTOOLS_METRICS_NAMESPACE") == "AdminView"
    settings = TotalsSettings(table=TOTALS, service="AdminView-dev")
    assert variables == settings.to_env()
    assert TotalsSettings.from_env(variables) == settings


def test_the_function_may_update_totals_and_read_that_stream_and_nothing_else(
    totals: Assembly,
) -> None:
    stream = f"{VIEW}.StreamArn"
    assert held(totals, "TotalsRole") == {
        ("logs:CreateLogStream", "TotalsLogs.Arn"),
        ("logs:PutLogEvents", "TotalsLogs.Arn"),
        ("dynamodb:UpdateItem", f"{TOTALS}.Arn"),
        ("dynamodb:DescribeStream", stream),
        ("dynamodb:GetRecords", stream),
        ("dynamodb:GetShardIterator", stream),
        ("dynamodb:ListStreams", stream),
    }


ALLOWED = {
    "Api": {
        ("dynamodb:BatchGetItem", f"{TOTALS}.Arn"),
        ("dynamodb:Query", f"{TOTALS}.Arn"),
        ("dynamodb:Query", f"{TOTALS}.Arn/index/Ranking"),
    },
    "Verify": {
        ("dynamodb:BatchGetItem", f"{TOTALS}.Arn"),
        ("dynamodb:Scan", f"{TOTALS}.Arn"),
    },
    # `verify --totals --deployed --repair` lets unused totals expire; a build waits for the totals.
    "Backfill": {
        ("dynamodb:DescribeStream", f"{VIEW}.StreamArn"),
        ("dynamodb:Query", f"{TOTALS}.Arn"),
        ("dynamodb:BatchGetItem", f"{TOTALS}.Arn"),
        ("dynamodb:Scan", f"{TOTALS}.Arn"),
        ("dynamodb:UpdateItem", f"{TOTALS}.Arn"),
    },
}


def test_only_the_api_and_verifications_may_use_totals(
    totals: Assembly, plain: Registry, tmp_path: Path
) -> None:
    before = synthesize(plain, tmp_path)
    for function in ("Api", "Backfill", "Replay", "Sync", "Verify"):
        role = f"{function}Role"
        assert held(totals, role) - held(before, role) == ALLOWED.get(function, set()), function
        assert held(before, role) <= held(totals, role), function


@pytest.mark.parametrize("stage", ["totals", "prod_totals"])
def test_the_stack_is_deployed_after_the_view_and_before_whoever_writes_rows(
    stage: str, request: pytest.FixtureRequest
) -> None:
    assembly: Assembly = request.getfixturevalue(stage)
    name = next(stack for stack in assembly.templates if stack.endswith("-Totals"))
    artifacts, of = assembly.manifest["artifacts"], name.removesuffix("Totals")
    assert f"{of}View" in artifacts[name]["dependencies"]
    for writer in ("Sync", "Recovery"):
        assert name in artifacts[f"{of}{writer}"]["dependencies"], writer


def test_only_the_totals_stack_forbids_to_replace_the_stream(totals: Assembly) -> None:
    """The runbook deletes that stack first. CloudFormation cannot change what others import."""
    (export,) = [
        output["Export"]["Name"]
        for output in totals.stack("View")["Outputs"].values()
        if "Export" in output and "StreamArn" in json.dumps(output["Value"])
    ]
    importing = {name for name, part in totals.templates.items() if export in json.dumps(part)}
    assert importing == {"AdminView-dev-View", "AdminView-dev-Totals"}


def test_in_one_stack_no_function_that_writes_rows_is_deployed_before_the_mapping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundling, "_install", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    stack = cdk.Stack(cdk.App(), "Shop")
    AdminView(stack, "AdminView", views=MODEL)
    resources: dict[str, Any] = Template.from_stack(stack).to_json()["Resources"]
    (followed,) = [name for name in resources if name.startswith("AdminViewTotalsFollowView")]
    waiting = {
        name
        for name, resource in resources.items()
        if resource["Type"] in (FUNCTION, MAPPING) and followed in resource.get("DependsOn", [])
    }
    writers = ("Sync", "SyncFollowOrders", "RecoveryReplay", "RecoveryBackfill")
    for writer in writers:
        assert [name for name in waiting if name.startswith(f"AdminView{writer}")], writer
    assert not [name for name in waiting if name.startswith("AdminViewTotals")]


def test_a_phase_keeps_the_stream_and_the_stack_of_a_model_that_dropped_its_totals(
    plain: Registry, totals: Assembly, tmp_path: Path
) -> None:
    path = tmp_path / "phase.json"
    path.write_text(json.dumps({"keepTotals": True}))
    kept = synthesize(plain, tmp_path / "cdk", rolloutPhase=str(path))
    assert kept.tables()[TOTALS] == totals.tables()[TOTALS]
    assert kept.mappings()[f"{VIEW}.StreamArn"] == totals.mappings()[f"{VIEW}.StreamArn"]
    assert ALLOWED["Api"] <= held(kept, "ApiRole"), "queries in flight may end"


def test_a_phase_that_says_neither_yes_nor_no_is_refused(plain: Registry, tmp_path: Path) -> None:
    path = tmp_path / "phase.json"
    path.write_text(json.dumps({"keepTotals": "yes"}))
    with pytest.raises(SettingsError, match="keepTotals is neither true nor false"):
        synthesize(plain, tmp_path / "cdk", rolloutPhase=str(path))


EPOCHS = """
from adminview import AccessPattern, Item, Row, Source, Total, view

orders = Source("Orders", partition_key="id")
sales = Total("DailySales", sort="day", epoch=3, epoch_was=2)
daily_sales = AccessPattern("daily-sales", total=sales)


@view(orders)
def order(item: Item):
    yield Row("ORDER", item["id"], totals=[sales(item["day"])])
"""


def test_a_pattern_on_a_new_epoch_may_be_served_by_the_one_before_and_by_no_other(
    tmp_path: Path,
) -> None:
    model = Registry.of([load_view_file(tmp_path / "epochs.py", EPOCHS)])
    path = tmp_path / "phase.json"
    path.write_text(json.dumps({"pending": {"daily-sales": "2"}}))
    assembly = synthesize(model, tmp_path / "cdk", rolloutPhase=str(path))
    assert assembly.manifest_of("Api").pending == {"daily-sales": "2"}
    assert not [on for _, on in held(assembly, "ApiRole") if on.endswith("/index/2")]
    path.write_text(json.dumps({"pending": {"daily-sales": "1"}}))
    with pytest.raises(SettingsError, match="cannot query epoch '1' of 'DailySales'"):
        synthesize(model, tmp_path / "other", rolloutPhase=str(path))


def test_a_source_may_not_be_the_totals_table(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is both the totals table and source 'Orders'"):
        synthesize(MODEL, tmp_path, sources={"Orders": imported(TOTALS)})


def test_totals_ring_when_they_are_late_silent_or_skipped(totals: Assembly) -> None:
    alarms = watched(totals)
    where = frozenset({("FunctionName", "TotalsFunction")})
    late = alarms["totals-lag"]
    assert late.counted == {("AWS/Lambda", "IteratorAge", where)}
    hour = 3_600_000.0
    assert late.rings(hour, hour, hour)
    assert not late.rings(hour - 1, hour, hour)
    assert 24 * hour / late.properties["Threshold"] >= 4, "long before the stream drops records"
    silent = alarms[f"totals-silence-{VIEW}"]
    mapping = frozenset({("EventSourceMappingUUID", "FollowViewMapping")})
    assert silent.counted == {("AWS/Lambda", "PolledEventCount", mapping)}
    dropped = alarms[f"totals-dropped-{VIEW}"]
    assert dropped.counted == {("AWS/Lambda", "DroppedEventCount", mapping)}
    assert (dropped.rings(1), dropped.rings(None)) == (True, False)
    skipped = alarms["totals-skipped"]
    service = frozenset({("service", "AdminView-dev")})
    assert skipped.counted == {("AdminView", "TotalsSkipped", service)}
    assert (skipped.rings(1), skipped.rings(0), skipped.rings(None)) == (True, False, False)
    assert {"errors-Totals", "throttles-Totals", f"table-throttling-{TOTALS}"} <= alarms.keys()
    ranking = alarms[f"index-throttling-{TOTALS}-Ranking"]
    assert {on for _, _, on in ranking.counted} == {
        frozenset({("TableName", TOTALS), ("GlobalSecondaryIndexName", "Ranking")})
    }


def test_the_dashboard_has_a_row_for_totals(totals: Assembly) -> None:
    titles = [widget["title"] for widget in dashboard(totals)]
    assert [title for title in titles if "otals" in title] == [
        "Totals: lag",
        "Age of records delivered to the totals function",
        "Totals: updates and skipped contributions",
        "Totals table: throttled reads and writes",
    ]


def test_the_stack_names_its_table_and_its_function(totals: Assembly) -> None:
    outputs = totals.outputs()
    assert (outputs["TotalsTableName"], outputs["TotalsFunctionName"]) == (
        TOTALS,
        "TotalsFunction",
    )
