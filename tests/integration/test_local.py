"""`adminview local`, as a process of its own beside a running engine."""

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from adminview.local.engines import ACCESS_KEY, REGION, SECRET_KEY, Engine
from adminview.local.local_cloud import LocalCloud
from adminview.local.tables import create, source_table, view_table
from adminview.model import Registry, Source
from adminview.model.item import encode
from tests.support import shop
from tests.support.background import Background, run_command, without_settings
from tests.support.model import order, registry


class Local(Background):
    """The command, running, with a file for its dead letters."""

    def __init__(self, environment: dict[str, str], letters: Path, *options: str) -> None:
        self.letters = letters
        super().__init__("local", *options, "--dead-letters", str(letters), environment=environment)


@pytest.fixture
def environment(engine: Engine) -> dict[str, str]:
    """Point a process at the engine, by AWS's own variables."""
    theirs = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return theirs | {
        "AWS_ENDPOINT_URL": engine.dynamodb_url,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_DEFAULT_REGION": REGION,
    }


@pytest.fixture
def empty(engine: Engine) -> Iterator[Any]:
    """Give a client of the engine, and remove all tables afterwards."""
    client = engine.dynamodb()
    yield client
    for name in client.list_tables()["TableNames"]:
        client.delete_table(TableName=name)


Run = Callable[..., Local]


@pytest.fixture
def run(environment: dict[str, str], tmp_path: Path) -> Iterator[Run]:
    """Start the command; it is ended with the test, however that ends."""
    started: list[Local] = []

    def start(*options: str, letters: str = "", **changes: str) -> Local:
        place = Path(letters) if letters else tmp_path / "letters.jsonl"
        started.append(Local(environment | changes, place, *options))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.finish()


def put(client: Any, table: str, **item: Any) -> None:
    client.put_item(TableName=table, Item={name: encode(value) for name, value in item.items()})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_creates_what_is_missing_follows_it_and_ends_when_told(
    run: Run, empty: Any, number: signal.Signals
) -> None:
    local = run("--create")
    local.wait_for("Ctrl-C to stop")
    put(empty, "Users", userId="u1", name="Ada")
    put(empty, "Users", userId="u2", addresses=[{}])
    local.wait_for("dead-lettered")
    assert local.end(number) == 0
    assert "created AdminViewTable" in local.said
    assert "view files are read once: restart this command after you change one" in local.said
    assert re.search(r"dead letter: Users/u2 \(record \d+\): ", local.said)
    assert "stopped; nothing is lost" in local.said
    (row,) = empty.scan(TableName="AdminViewTable")["Items"]
    assert row["PK"] == {"S": "USER#u1"}
    (letter,) = map(json.loads, local.letters.read_text().splitlines())
    assert letter["owner"] == "Users/u2"
    assert "Ada" not in local.said


def test_letters_go_to_a_queue_if_one_is_named(
    run: Run, engine: Engine, start: Callable[[Registry], LocalCloud]
) -> None:
    cloud = start(registry())
    cloud.put("Users", {"userId": "u2", "addresses": [{}]})
    local = run(
        AWS_ENDPOINT_URL_SQS=engine.sqs_url, ADMINVIEW_DEAD_LETTER_QUEUE_URL=cloud.queue_url
    )
    local.wait_for("dead-lettered")
    assert local.end(signal.SIGINT) == 0
    assert [letter["owner"] for letter in cloud.letters()] == ["Users/u2"]
    assert not local.letters.exists()


def test_a_table_that_is_missing_is_named(run: Run, empty: Any) -> None:
    assert empty.list_tables()["TableNames"] == []
    local = run()
    assert local.finish() == 1
    assert (
        local.said
        == "adminview: there is no table 'AdminViewTable'; create it, or run with --create\n"
    )


def test_a_stream_that_is_off_is_named_with_the_command_that_turns_it_on(
    run: Run, empty: Any
) -> None:
    table = source_table(registry().source("Orders"), "Orders")
    del table["StreamSpecification"]
    create(empty, view_table(registry(), "AdminViewTable"))
    create(empty, table)
    local = run()
    assert local.finish() == 1
    assert "table 'Orders' has no stream. Enable the stream with: aws dynamodb" in local.said


def test_a_stream_of_the_wrong_type_is_named_with_the_way_to_replace_it(
    run: Run, empty: Any
) -> None:
    table = source_table(registry().source("Orders"), "Orders")
    table["StreamSpecification"]["StreamViewType"] = "NEW_IMAGE"
    create(empty, view_table(registry(), "AdminViewTable"))
    create(empty, table)
    local = run()
    assert local.finish() == 1
    assert "'Orders' has a stream of NEW_IMAGE. A stream's view type cannot change" in local.said


def test_a_table_that_is_not_as_declared_is_named_with_both_keys(run: Run, empty: Any) -> None:
    create(empty, view_table(registry(), "AdminViewTable"))
    create(empty, source_table(Source("Orders", partition_key="other"), "Orders"))
    local = run()
    assert local.finish() == 1
    assert (
        "table 'Orders' is declared with key (CustomerId, SK), but has key (other): " in local.said
    )
    assert "delete the table (aws dynamodb delete-table --table-name Orders)" in local.said


def without_first_index() -> dict[str, Any]:
    bare = view_table(registry(), "AdminViewTable")
    bare["GlobalSecondaryIndexes"] = bare["GlobalSecondaryIndexes"][1:]
    del bare["AttributeDefinitions"][2:4]
    return bare


def test_an_index_that_is_missing_is_named_with_the_option_that_adds_it(
    run: Run, empty: Any
) -> None:
    create(empty, without_first_index())
    local = run()
    assert local.finish() == 1
    missing = "index 'GSI1' is declared with key (GSI1_PK, GSI1_SK), but does not exist: "
    assert f"{missing}run with --create, which adds it" in local.said


def test_a_query_of_an_index_that_is_missing_says_so(
    empty: Any, environment: dict[str, str], tmp_path: Path
) -> None:
    create(empty, without_first_index())
    environment |= {"ADMINVIEW_VIEWS": "tests.support.views"}
    query = ("query", "orders-by-status", "--status", "PENDING")
    printed = run_command(*query, environment=environment, folder=tmp_path)
    assert "the index does not exist on the table" in printed
    assert "check the region" not in printed


def test_an_index_that_was_declared_since_is_added_and_gets_its_rows(run: Run, empty: Any) -> None:
    create(empty, without_first_index())
    local = run("--create")
    local.wait_for("Ctrl-C to stop")
    put(empty, "Orders", **order(Status="PENDING"))
    local.wait_for("rows put")
    assert local.end(signal.SIGINT) == 0
    assert "created index GSI1 of AdminViewTable\n" in local.said
    assert "created AdminViewTable\n" not in local.said
    assert empty.scan(TableName="AdminViewTable", IndexName="GSI1")["Count"] == 1


def test_an_index_with_another_key_is_named_with_the_way_to_replace_it(
    run: Run, empty: Any
) -> None:
    other = view_table(registry(), "AdminViewTable")
    other["GlobalSecondaryIndexes"][0]["KeySchema"][1]["AttributeName"] = "GSI2_SK"
    other["AttributeDefinitions"] = [
        one for one in other["AttributeDefinitions"] if one["AttributeName"] != "GSI1_SK"
    ]
    create(empty, other)
    local = run("--create")
    assert local.finish() == 1
    assert "but has key (GSI1_PK, GSI2_SK): delete the table (aws dynamodb" in local.said


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"AWS_ENDPOINT_URL": ""}, "set AWS_ENDPOINT_URL to the endpoint to follow"),
        (
            {"AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:9"},
            "set AWS_ENDPOINT_URL to the endpoint",
        ),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "no connection to http://127.0.0.1:9"),
    ],
)
def test_what_is_missing_to_reach_the_endpoint_is_said_without_a_traceback(
    run: Run, change: dict[str, str], why: str
) -> None:
    local = run(**change)
    assert local.finish() == 1
    assert why in local.said
    assert "Traceback" not in local.said


def test_a_place_for_letters_that_cannot_be_written_is_found_at_once(run: Run, empty: Any) -> None:
    create(empty, view_table(registry(), "AdminViewTable"))
    local = run("--create", letters="/nowhere/letters.jsonl")
    assert local.finish() == 1
    assert "No such file or directory" in local.said
    assert "Traceback" not in local.said


@pytest.fixture
def app(tmp_path: Path) -> Path:
    folder = tmp_path / "my-app"
    run_command("init", str(folder), environment=without_settings(), folder=tmp_path)
    return folder


ORDER = {"orderId": "o-1", "customerId": "c-1", "status": "PENDING", "createdAt": "2026-01-31"}


def test_with_an_engine_of_its_own_it_runs_an_app_with_a_queue(app: Path) -> None:
    """As in the README of a generated app: nothing is set, and another terminal needs one line."""
    started = Background(
        *("local", "--engine", "moto"),
        environment=without_settings() | {"AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:9"},
        folder=app,
    )
    try:
        terminal = without_settings() | started.exported()
        started.wait_for("Ctrl-C to stop")
        client = boto3.client(
            "dynamodb",
            endpoint_url=terminal["AWS_ENDPOINT_URL"],
            region_name=terminal["AWS_DEFAULT_REGION"],
            aws_access_key_id=terminal["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=terminal["AWS_SECRET_ACCESS_KEY"],
        )
        put(client, "Orders", **ORDER)
        put(client, "Orders", orderId="o-2")
        started.wait_for("dead letter: Orders/o-2")
        query = ("query", "open-orders", "--status", "PENDING")
        assert "ORDER#o-1" in run_command(*query, environment=terminal, folder=app)
        listed = run_command("dlq", "list", environment=terminal, folder=app)
        assert "Orders/o-2" in listed
        assert "the item has no attribute 'status'" in listed
        assert started.end(signal.SIGINT) == 0
        assert "stopped, and all tables are gone" in started.said
    finally:
        started.process.kill()
        started.finish()


@pytest.mark.shop
def test_totals_are_created_and_followed_too(run: Run, empty: Any) -> None:
    local = run("--create")  # of the shop, which has totals
    local.wait_for("AdminViewTable; Ctrl-C to stop")
    order = {"OrderId": "1", "OrderDate": "2025-03-01", "CreatedAt": "-", "Status": "PAID"}
    put(empty, "Orders", CustomerId="u1", SK="2025-03-01#1", Total=3, Items=[], **order)
    local.wait_for("totals: 1 rows changed; 3 totals updated")
    assert local.end(signal.SIGINT) == 0
    assert "created AdminViewTotals" in local.said
    stored = empty.scan(TableName="AdminViewTotals")["Items"]
    assert {(item["PK"]["S"], item["SK"]["S"]) for item in stored} == {
        ("OrdersPerStatus.1", "PAID"),
        ("DailySales.1", "2025-03-01"),
        ("CustomerSpending.1", "u1"),
    }


@pytest.mark.shop
def test_a_view_without_a_stream_is_named_if_the_model_has_totals(run: Run, empty: Any) -> None:
    view = view_table(shop.registry(), "AdminViewTable")
    del view["StreamSpecification"]
    create(empty, view)
    local = run("--create")
    assert local.finish() == 1
    assert "table 'AdminViewTable' has no stream. Enable the stream with: aws" in local.said
