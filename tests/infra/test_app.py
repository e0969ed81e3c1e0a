"""The app as a whole: its stacks, outputs and errors; a new source is one more file."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from adminview.aws.settings import Settings
from tests.support.shop import registry
from tests.support.synthesis import ROOT, Assembly, imported, stream, synthesize
from tests.support.view_files import with_view_file

NEW_FILE = '''
"""Parcels, as the warehouse looks them up."""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, Source, number, view

parcels = Source("Parcels", partition_key="parcelId", sort_key=number("leg"))

by_weight = Index("ByWeight", partition=["depot", "day"], sort=[number("grams")], include=["data"])

parcels_of_depot = AccessPattern(
    "parcels-of-depot", index=by_weight, partition=["{depot}", "{day}"], about="Lightest first"
)


@view(parcels)
def parcel(item: Item) -> Iterator[Row]:
    """Show a parcel in its depot, by weight."""
    yield Row(
        f"PARCEL#{item['parcelId']}",
        f"LEG#{item['leg']}",
        data=item.pick("grams"),
        indexes=[by_weight(item["depot"], item["day"], item["grams"])],
    )
'''


FUNCTIONS = ("Sync", "Replay", "Verify", "Backfill", "Api")


def sources_of(assembly: Assembly, function: str) -> dict[str, str]:
    assert "ADMINVIEW_SOURCES" not in assembly.function(function)["Environment"]["Variables"]
    return dict(assembly.manifest_of(function).sources)


def touched(assembly: Assembly, function: str) -> set[str]:
    return {resource for _, resources in assembly.statements(function) for resource in resources}


def test_a_new_source_is_one_files_change(tmp_path: Path) -> None:
    grown = with_view_file(tmp_path / "parcels.py", NEW_FILE)
    assembly = synthesize(grown, tmp_path / "cdk")

    table = assembly.tables()["Parcels"]["Properties"]
    assert table["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert {"AttributeName": "leg", "AttributeType": "N"} in table["AttributeDefinitions"]
    view = assembly.tables()["AdminViewTable"]["Properties"]
    assert {
        "IndexName": "ByWeight",
        "KeySchema": [
            {"AttributeName": "depot", "KeyType": "HASH"},
            {"AttributeName": "day", "KeyType": "HASH"},
            {"AttributeName": "grams", "KeyType": "RANGE"},
        ],
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["data"]},
    } in view["GlobalSecondaryIndexes"]
    assert {"AttributeName": "grams", "AttributeType": "N"} in view["AttributeDefinitions"]
    assert "Parcels.StreamArn" in assembly.mappings()
    assert "Parcels.StreamArn" in touched(assembly, "Sync")
    assert {"Parcels.Arn", "Parcels.StreamArn"} <= touched(assembly, "Replay")
    assert "Parcels.Arn" in touched(assembly, "Verify")
    assert "Parcels.Arn" in touched(assembly, "Backfill")
    assert any(
        resource.endswith(":FollowParcelsMapping") for resource in touched(assembly, "Backfill")
    )
    assert "AdminViewTable.Arn/index/ByWeight" in touched(assembly, "Api")
    for function in FUNCTIONS:
        assert sources_of(assembly, function)["Parcels"] == "Parcels"
    assert grown.pattern("parcels-of-depot").index is grown.modules[-1].by_weight


def test_an_imported_source_gets_no_table_but_is_followed_by_its_stream(mixed: Assembly) -> None:
    assert mixed.tables().keys() == {
        "team-a-AdminViewTable",
        "team-a-AdminViewTableProgress",
        "team-a-AdminViewTotals",
        "team-a-Payments",
        "team-a-Products",
        "team-a-Users",
    }
    followed = {stream("legacy-orders"), *(f"team-a-{x}.StreamArn" for x in OTHERS)}
    assert mixed.mappings().keys() == followed | {"team-a-AdminViewTable.StreamArn"}
    (read,) = [on for actions, on in mixed.statements("Sync") if "dynamodb:GetRecords" in actions]
    assert set(read) == followed
    names = {"Orders": "legacy-orders"} | {name: f"team-a-{name}" for name in OTHERS}
    for function in FUNCTIONS:
        assert sources_of(mixed, function) == names


OTHERS = ("Payments", "Products", "Users")


def test_without_a_source_of_our_own_there_is_no_empty_stack(tmp_path: Path) -> None:
    sources = {source.name: imported(source.name) for source in registry().sources}
    assembly = synthesize(registry(), tmp_path, sources=sources)
    assert assembly.templates.keys() == {
        "AdminView-dev-Api",
        "AdminView-dev-Recovery",
        "AdminView-dev-Sync",
        "AdminView-dev-Totals",
        "AdminView-dev-View",
        "AdminView-dev-Watch",
    }
    followed = {stream(source.name) for source in registry().sources}
    assert assembly.mappings().keys() == followed | {"AdminViewTable.StreamArn"}


def test_the_stacks_tell_where_things_are(dev: Assembly) -> None:
    outputs = dev.outputs()
    settings = Settings.from_env(json.loads(outputs.pop("Settings")))
    assert settings.dead_letter_queue_url == "DeadLetters"
    questions = json.loads(outputs.pop("AccessPatterns"))
    assert questions == {"model": registry().fingerprint, "pending": {}}
    assert json.loads(outputs.pop("Mappings")) == {
        source.name: f"Follow{source.name}Mapping" for source in registry().sources
    }
    assert outputs == {
        "ViewTableName": "AdminViewTable",
        "DeadLetterQueueUrl": "DeadLetters",
        "SyncFunctionName": "SyncFunction",
        "TotalsTableName": "AdminViewTotals",
        "TotalsFunctionName": "TotalsFunction",
        "ReplayFunctionName": "ReplayFunction",
        "VerifyFunctionName": "VerifyFunction",
        "BackfillFunctionName": "BackfillFunction",
        "BackfillMachineArn": "BackfillSegmentsMachine",
        "MigrateFunctionName": "MigrateFunction",
        "MigrateMachineArn": "MigrateSegmentsMachine",
        "ApiUrl": "HttpApi.ApiEndpoint",
        "ApiFunctionName": "ApiFunction",
        "AccessLogGroup": "AccessLogs",
        "AlarmTopicArn": "Alarms",
        "DashboardName": "Dashboard",
    }


def test_no_template_holds_an_account_a_password_or_a_path_of_the_builder(
    dev: Assembly, prod: Assembly
) -> None:
    for template in [*dev.templates.values(), *prod.templates.values()]:
        text = json.dumps(template)
        assert not re.search(r"\b\d{12}\b", text)
        assert not re.search(r"(?i)secret|password", text)
        assert str(ROOT) not in text


def run_app(directory: Path, **context: object) -> subprocess.CompletedProcess[str]:
    """Run the app as the CDK CLI does, without credentials and no way out."""
    nowhere = "http://127.0.0.1:9"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(directory),
        "CDK_OUTDIR": str(directory / "cdk"),
        "CDK_CONTEXT_JSON": json.dumps(context),
        "AWS_EC2_METADATA_DISABLED": "true",
        "HTTP_PROXY": nowhere,
        "HTTPS_PROXY": nowhere,
    }
    return subprocess.run(
        [sys.executable, str(ROOT / "app.py")],
        env=environment,
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.mark.usefixtures("dev")  # builds the bundle, which may need the package index
def test_the_app_synthesizes_without_credentials_region_or_network(tmp_path: Path) -> None:
    done = run_app(tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"Lambda bundle \w+: \d+ files, [\d.]+ MB unpacked", done.stderr)
    assert Assembly.read(tmp_path / "cdk").templates.keys() == {
        "AdminView-dev-Api",
        "AdminView-dev-Recovery",
        "AdminView-dev-Sources",
        "AdminView-dev-Sync",
        "AdminView-dev-Totals",
        "AdminView-dev-View",
        "AdminView-dev-Watch",
    }


def test_a_wrong_context_is_reported_in_one_line_instead_of_a_traceback(tmp_path: Path) -> None:
    done = run_app(tmp_path, adminview={"stage": "staging"})
    assert done.returncode == 1
    assert "error: no stage is named 'staging'; there are dev, prod" in done.stderr
    assert "Traceback" not in done.stderr
