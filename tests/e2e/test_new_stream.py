"""A source with a new stream is found, and followed again as the runbook says."""

import json
import re
import shlex
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.e2e.cloud import Checkout, complete_totals, local_cloud

TABLE = "Users"
ON = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
ADA = {"userId": "ada", "name": "Ada", "email": "ada@shop.example"}
ADVICE = re.compile(
    rf'put "{TABLE}": (\{{.*?\}}) into "sources" of cdk.json; npx cdk (deploy .*?); then (.*)'
)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """Deploy dev to a cloud of its own: these tests change its streams."""
    with local_cloud(tmp_path_factory.mktemp("stream")) as started:
        started.bootstrap()
        started.cdk("deploy", "--all", "--require-approval", "never")
        complete_totals(started)
        yield started


def finding(cloud: Checkout, name: str) -> Any:
    done = cloud.run(sys.executable, "-m", "adminview.cli.main", "doctor", "--json")
    return next(entry for entry in json.loads(done.stdout)["findings"] if entry["name"] == name)


def stream_of(cloud: Checkout) -> str:
    table = cloud.client("dynamodb").describe_table(TableName=TABLE)["Table"]
    return str(table["LatestStreamArn"])


def follow_again(cloud: Checkout) -> None:
    """Do what the doctor prints about the mapping: edit cdk.json, deploy, compare."""
    mapping = finding(cloud, f"mapping of {TABLE}")
    assert mapping["state"] == "problem"
    assert stream_of(cloud) in mapping["seen"]
    (advice,) = mapping["do"]
    steps = ADVICE.match(advice)
    assert steps, advice
    entry, deploy, compare = steps.groups()
    file = cloud.folder / "cdk.json"
    settings = json.loads(file.read_text())
    settings["context"]["adminview"]["sources"] = {TABLE: json.loads(entry)}
    file.write_text(json.dumps(settings))
    cloud.cdk(*shlex.split(deploy), "--require-approval", "never")
    assert compare.startswith(f"adminview verify --source {TABLE} --repair --stage dev")
    assert "docs/runbook.md#new-stream" in compare
    cloud.adminview("verify", "--source", TABLE, "--repair")
    assert finding(cloud, f"mapping of {TABLE}")["state"] == "ok"


def profile(cloud: Checkout, user: str) -> Any:
    return cloud.row(f"USER#{user}", "PROFILE")


def test_a_stream_that_was_turned_off_and_on_again_is_followed(cloud: Checkout) -> None:
    cloud.put(TABLE, ADA)
    cloud.deadline(lambda: profile(cloud, "ada"), "the row appears")
    old = stream_of(cloud)
    tables = cloud.client("dynamodb")
    tables.update_table(TableName=TABLE, StreamSpecification={"StreamEnabled": False})
    tables.update_table(TableName=TABLE, StreamSpecification=ON)
    assert stream_of(cloud) != old
    cloud.put(TABLE, ADA | {"userId": "unread"})

    follow_again(cloud)
    assert profile(cloud, "unread"), "the comparison writes what was not read"
    cloud.put(TABLE, ADA | {"userId": "later"})
    cloud.deadline(lambda: profile(cloud, "later"), "changes reach the view again")


def test_a_table_that_was_restored_is_followed_and_its_later_rows_are_deleted(
    cloud: Checkout,
) -> None:
    tables = cloud.client("dynamodb")
    tables.delete_table(TableName=TABLE)
    # As a restore makes it: the items of an earlier day, and no stream.
    tables.create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "userId", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "userId", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    cloud.put(TABLE, ADA | {"name": "Ada before"})
    source = finding(cloud, f"source {TABLE}")
    assert source["state"] == "problem"
    assert f"aws dynamodb update-table --table-name {TABLE}" in source["do"][0]
    tables.update_table(TableName=TABLE, StreamSpecification=ON)

    follow_again(cloud)
    assert profile(cloud, "ada")["data"]["M"]["name"] == {"S": "Ada before"}
    assert profile(cloud, "later") is None
    cloud.put(TABLE, ADA | {"userId": "next"})
    cloud.deadline(lambda: profile(cloud, "next"), "changes reach the view again")
