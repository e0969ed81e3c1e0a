"""`adminview dev` on the engine at AWS_ENDPOINT_URL, as a process of its own."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from adminview.cli.commands import dev as command
from adminview.examples.shop.sample_data import FIRST_DAY, SECOND_DAY
from adminview.local.engines import ACCESS_KEY, REGION, SECRET_KEY, Engine, EngineName
from adminview.local.local_cloud import LocalCloud
from adminview.local.tables import create, source_table, view_table
from adminview.model import Registry, Source
from adminview.model.item import encode
from tests.support import shop
from tests.support.background import ROOT, Background, run_command
from tests.support.model import order, registry

pytestmark = pytest.mark.slow


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


Run = Callable[..., Background]


@pytest.fixture
def run(environment: dict[str, str]) -> Iterator[Run]:
    """Start the command; it is ended with the test, however that ends."""
    started: list[Background] = []

    def start(*options: str, **changes: str) -> Background:
        started.append(Background("dev", *options, environment=environment | changes))
        return started[-1]

    yield start
    for background in started:
        background.process.kill()
        background.finish()


def test_the_doctor_says_that_an_engine_has_no_deployment(environment: dict[str, str]) -> None:
    url = environment["AWS_ENDPOINT_URL"]
    message = run_command("doctor", environment=environment, folder=ROOT)
    assert message.startswith(f"adminview: {url} has no CloudFormation, so there is no deployment")
    assert "ResponseParserError" not in message


def put(client: Any, table: str, **item: Any) -> None:
    client.put_item(TableName=table, Item={name: encode(value) for name, value in item.items()})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_creates_what_is_missing_follows_it_and_ends_on_a_signal(
    run: Run, empty: Any, number: signal.Signals
) -> None:
    dev = run()
    dev.wait_for("Ctrl-C to stop")
    put(empty, "Users", userId="u1", name="Ada")
    put(empty, "Users", userId="u2", addresses=[{}])
    dev.wait_for("dead-lettered")
    assert dev.end(number) == 0
    assert "created Orders, Payments, Products, Users, AdminViewTable, AdminView" in dev.output
    assert "dead letter: Users/u2: MissingAttributeError" in dev.output
    assert "rebuilt" not in dev.output
    assert dev.output.endswith("stopped; the tables stay\n")
    (row,) = empty.scan(TableName="AdminViewTable")["Items"]
    assert row["PK"] == {"S": "USER#u1"}
    assert "Ada" not in dev.output


def test_the_dead_letters_are_in_a_queue_that_other_commands_find(
    run: Run, empty: Any, environment: dict[str, str], tmp_path: Path
) -> None:
    dev = run()
    exported = dev.exported()
    put(empty, "Users", userId="u2", addresses=[{}])
    dev.wait_for("dead-lettered")
    # As in a terminal in which another app was used before.
    terminal = environment | {"ADMINVIEW_VIEWS": "adminview.examples.shop.views"} | exported
    assert terminal["ADMINVIEW_VIEWS"] != "adminview.examples.shop.views"
    assert "Users/u2" in run_command("dlq", "list", environment=terminal, folder=tmp_path)
    discard = ("dlq", "discard", "--all", "--yes", "--reason", "not needed here")
    assert "1 dead letter discarded" in run_command(*discard, environment=terminal, folder=tmp_path)
    assert dev.end(signal.SIGINT) == 0


def test_dead_letters_go_to_a_queue_if_one_is_named(
    run: Run, engine: Engine, start: Callable[[Registry], LocalCloud]
) -> None:
    cloud = start(registry())
    cloud.put("Users", {"userId": "u2", "addresses": [{}]})
    dev = run(AWS_ENDPOINT_URL_SQS=engine.sqs_url, ADMINVIEW_DEAD_LETTER_QUEUE_URL=cloud.queue_url)
    dev.wait_for("dead-lettered")
    assert dev.end(signal.SIGINT) == 0
    assert {letter["owner"] for letter in cloud.letters()} == {"Users/u2"}


def test_only_engines_that_somebody_else_started_are_waited_for(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first request to a new engine may take long; it is this process that is busy then."""
    checked: list[str] = []
    monkeypatch.setattr(command, "check_endpoints", lambda _, *names: checked.extend(names))
    unnamed = dict.fromkeys(("AWS_ENDPOINT_URL_SQS", "ADMINVIEW_DEAD_LETTER_QUEUE_URL"), "")
    for name, value in (environment | unnamed).items():
        monkeypatch.setenv(name, value)
    with command.use_endpoint(os.environ) as variables:
        assert variables.keys() >= unnamed.keys()
    assert checked == ["DYNAMODB", "DYNAMODB_STREAMS"]
    with command.use_endpoint(os.environ):  # which names them now
        assert checked[2:] == ["DYNAMODB", "DYNAMODB_STREAMS", "SQS"]


def test_an_engine_that_is_started_leaves_its_usual_port_to_the_api(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "moto_engine", lambda port: pytest.fail(f"listens at {port}"))
    with command.start_engine(EngineName.MOTO, dict(environment), command.ENGINE_PORT) as variables:
        assert variables["AWS_ENDPOINT_URL"]


def test_rows_that_an_older_model_left_are_rebuilt(
    run: Run, empty: Any, start: Callable[[Registry], LocalCloud]
) -> None:
    cloud = start(registry())
    cloud.put("Users", {"userId": "u1", "name": "Ada"})
    cloud.settle()
    stale = {"PK": {"S": "USER#u1"}, "SK": {"S": "OLD"}, "_owner": {"S": "Users/u1"}}
    empty.put_item(TableName="AdminViewTable", Item=stale)
    dev = run()
    dev.wait_for("removed 1 row that no view derives any more")
    assert dev.end(signal.SIGINT) == 0
    assert "rebuilt Users: 1 item\n" in dev.output
    assert [row["SK"]["S"] for row in cloud.rows()] == ["PROFILE"]


def test_a_stream_that_is_off_is_named_with_the_command_that_turns_it_on(
    run: Run, empty: Any
) -> None:
    table = source_table(registry().source("Orders"), "Orders")
    del table["StreamSpecification"]
    create(empty, view_table(registry(), "AdminViewTable"))
    create(empty, table)
    dev = run()
    assert dev.finish() == 1
    assert "table 'Orders' has no stream. Enable the stream with: aws dynamodb" in dev.output


def test_a_stream_of_the_wrong_type_is_named_with_the_way_to_replace_it(
    run: Run, empty: Any
) -> None:
    table = source_table(registry().source("Orders"), "Orders")
    table["StreamSpecification"]["StreamViewType"] = "NEW_IMAGE"
    create(empty, view_table(registry(), "AdminViewTable"))
    create(empty, table)
    dev = run()
    assert dev.finish() == 1
    assert "'Orders' has a stream of NEW_IMAGE. A stream's view type cannot change" in dev.output


def test_a_table_that_is_not_as_declared_is_named_with_both_keys(run: Run, empty: Any) -> None:
    create(empty, view_table(registry(), "AdminViewTable"))
    create(empty, source_table(Source("Orders", partition_key="other"), "Orders"))
    dev = run()
    assert dev.finish() == 1
    assert (
        "table 'Orders' is declared with key (CustomerId, SK), but has key (other): " in dev.output
    )
    assert "delete the table (aws dynamodb delete-table --table-name Orders)" in dev.output


def without_first_index() -> dict[str, Any]:
    bare = view_table(registry(), "AdminViewTable")
    bare["GlobalSecondaryIndexes"] = bare["GlobalSecondaryIndexes"][1:]
    del bare["AttributeDefinitions"][2:4]
    return bare


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
    dev = run()
    dev.wait_for("Ctrl-C to stop")
    put(empty, "Orders", **order(Status="PENDING"))
    dev.wait_for(" put, ")
    assert dev.end(signal.SIGINT) == 0
    assert "Users, index GSI1 of AdminViewTable, AdminViewTableProgress\n" in dev.output
    assert empty.scan(TableName="AdminViewTable", IndexName="GSI1")["Count"] == 1


def test_an_index_with_another_key_is_named_with_the_way_to_replace_it(
    run: Run, empty: Any
) -> None:
    other = view_table(registry(), "AdminViewTable")
    other["GlobalSecondaryIndexes"][0]["KeySchema"][1]["AttributeName"] = "GSI2_SK"
    other["AttributeDefinitions"] = [
        attribute
        for attribute in other["AttributeDefinitions"]
        if attribute["AttributeName"] != "GSI1_SK"
    ]
    create(empty, other)
    dev = run()
    assert dev.finish() == 1
    assert "index 'GSI1' is declared with key (GSI1_PK, GSI1_SK) and projection" in dev.output
    assert "but has key (GSI1_PK, GSI2_SK) and projection" in dev.output
    assert (
        "or delete the table (aws dynamodb delete-table --table-name AdminViewTable)" in dev.output
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"AWS_ENDPOINT_URL": "https://dynamodb.eu-west-1.amazonaws.com"}, "is AWS itself"),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "no connection to http://127.0.0.1:9"),
    ],
)
def test_what_is_missing_to_reach_the_endpoint_is_reported_without_a_traceback(
    run: Run, change: dict[str, str], why: str
) -> None:
    dev = run(**change)
    assert dev.finish() == 1
    assert why in dev.output
    assert "Traceback" not in dev.output


def test_data_is_kept_for_an_engine_of_its_own_only(run: Run) -> None:
    dev = run("--data", ".data")
    assert dev.finish() == 2
    assert "keeps its own data" in dev.output


@pytest.mark.shop
def test_totals_are_created_and_followed_too(run: Run, empty: Any) -> None:
    dev = run()  # of the shop, which has totals
    dev.wait_for("Ctrl-C to stop")
    order = {"OrderId": "1", "OrderDate": "2025-03-01", "CreatedAt": "-", "Status": "PAID"}
    put(empty, "Orders", CustomerId="u1", SK="2025-03-01#1", Total=3, Items=[], **order)
    dev.wait_for("totals: 1 row changed; 3 totals updated")
    assert dev.end(signal.SIGINT) == 0
    assert ", AdminViewTotals" in dev.output
    stored = empty.scan(TableName="AdminViewTotals")["Items"]
    assert {(item["PK"]["S"], item["SK"]["S"]) for item in stored} == {
        ("OrdersPerStatus.1", "PAID"),
        ("DailySales.1", "2025-03-01"),
        ("CustomerSpending.1", "u1"),
    }


@pytest.mark.shop
def test_the_data_of_the_demo_is_loaded_on_request(run: Run, empty: Any) -> None:
    dev = run("--items-file", "shop")
    dev.wait_for(f"loaded {len(FIRST_DAY) + len(SECOND_DAY) + 1} items")
    dev.wait_for("dead letter: Orders/user-456/2025-03-06#2121399: MissingAttributeError")
    assert dev.end(signal.SIGINT) == 0
    assert empty.scan(TableName="AdminViewTable", Select="COUNT")["Count"]


@pytest.mark.shop
def test_a_view_without_a_stream_is_named_if_the_model_has_totals(run: Run, empty: Any) -> None:
    view = view_table(shop.registry(), "AdminViewTable")
    del view["StreamSpecification"]
    create(empty, view)
    dev = run()
    assert dev.finish() == 1
    assert "table 'AdminViewTable' has no stream. Enable the stream with: aws" in dev.output
