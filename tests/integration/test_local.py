"""`adminview local`, as a process of its own beside a running engine."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from adminview.local.engines import ACCESS_KEY, REGION, SECRET_KEY, Engine
from adminview.local.local_cloud import LocalCloud
from adminview.local.tables import create, source_table, view_table
from adminview.model import Registry, Source
from adminview.model.item import encode
from tests.support import shop
from tests.support.model import registry

ROOT = Path(__file__).parents[2]
SECONDS = 60  # to wait for a line, at most


class Local:
    """The command, running, and what it has said so far."""

    def __init__(self, environment: dict[str, str], letters: Path, *options: str) -> None:
        command = [sys.executable, "-u", "-m", "adminview.cli.main", "local", *options]
        self.letters = letters
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [*command, "--letters", str(self.letters)],
            env=environment | {"PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.reader = Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        with self.process.stdout as output:
            for line in output:
                self.lines.append(line)  # at once: others wait for it

    @property
    def said(self) -> str:
        return "".join(self.lines)

    def wait_for(self, text: str) -> None:
        end = time.monotonic() + SECONDS
        while text not in self.said:
            assert time.monotonic() < end, f"{text!r} is not in\n{self.said}"
            time.sleep(0.05)

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.finish()

    def finish(self) -> int:
        code = self.process.wait(SECONDS)
        self.reader.join(SECONDS)
        return code


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
    assert "the table is declared with key (CustomerId, SK), but has key (other)" in local.said


def test_an_index_that_is_missing_is_named(run: Run, empty: Any) -> None:
    bare = view_table(registry(), "AdminViewTable")
    bare["GlobalSecondaryIndexes"] = bare["GlobalSecondaryIndexes"][1:]
    del bare["AttributeDefinitions"][2:4]
    create(empty, bare)
    local = run()
    assert local.finish() == 1
    assert "index 'GSI1' is declared with key (GSI1_PK, GSI1_SK), but does not exist" in local.said


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
