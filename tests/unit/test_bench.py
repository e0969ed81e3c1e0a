"""All contenders of the benchmark do the same work. Nothing is timed here."""

import os
from collections.abc import Iterator
from dataclasses import replace
from json import loads
from typing import Any

import pytest

from adminview.aws.boto3_clients import dynamodb_client
from adminview.aws.view_reader import ViewReader
from adminview.handlers.api import reader
from adminview.model.item import Item
from adminview.model.limits import row_size
from adminview.model.row import PROVENANCE, Attributes, key_of
from adminview.query.engine import QueryEngine
from adminview.reconcile.equality import canonical
from bench.contenders import CONTENDERS, TABLE, connect, environment, is_ambient
from bench.contenders.rows import LEAN, ROWS_VARIABLE, derive_raw_rows
from bench.measure import OWN_ROWS
from bench.model import order, orders
from bench.query.boto3_queries import boto3_queries
from bench.query.model import QUERIES, ROWS
from bench.query.model import registry as query_registry
from bench.streams import (
    ITEM_BYTES,
    MAX_PAYLOAD,
    NEUTRAL,
    ORDINARY,
    Load,
    largest_batch,
    stream_record,
)
from bench.stub_client import StubClient, running_stub
from bench.techniques import TECHNIQUES
from bench.units import DeriveRows, Table, replay, table_before
from bench.worker_processes import start_workers

SMALL = 60  # records
STREAMS = {
    "neutral": replace(NEUTRAL, records=SMALL),
    "ordinary": replace(ORDINARY, records=SMALL, batch=40),
    "many rows": replace(ORDINARY, records=20, fan_out=8),
}


@pytest.fixture(scope="module")
def stub() -> Iterator[StubClient]:
    with running_stub() as stub, pytest.MonkeyPatch.context() as patch:
        for name in filter(is_ambient, [*os.environ]):
            patch.delenv(name)
        patch.setenv("AWS_XRAY_SDK_ENABLED", "false")  # the Tracer sets it, and leaves it set
        for name, value in environment(stub.url).items():
            patch.setenv(name, value)
        yield stub


def sent_bodies(contender: str, events: list[Any], stub: StubClient) -> list[dict[str, Any]]:
    """Let one contender handle events, and return the bodies of its calls."""
    handler = connect(contender)
    stub.record_bodies()
    for event in events:
        handler(event)
    return stub.take_bodies()


def without_provenance(table: Table) -> Table:
    """Return the rows without provenance attributes, with normalised values."""
    return {
        key: canonical({name: value for name, value in row.items() if name not in PROVENANCE})
        for key, row in table.items()
    }


def derive_by_model(image: Any) -> list[Attributes]:
    """Derive the rows of an order with the model."""
    return [row.attributes() for row in order(Item(image))]


def table_after(events: list[Any], derive_rows: DeriveRows = derive_by_model) -> Table:
    """Return the rows of all orders that exist after the stream."""
    changes = [record["dynamodb"] for event in events for record in event["Records"]]
    last = {orders.owner(change["Keys"]): change.get("NewImage") for change in changes}
    return without_provenance(
        {key_of(row): row for image in last.values() if image for row in derive_rows(image)}
    )


@pytest.mark.parametrize("contender", CONTENDERS)
@pytest.mark.parametrize("stream", STREAMS)
def test_every_contender_writes_the_same_table(
    contender: str, stream: str, stub: StubClient
) -> None:
    load = STREAMS[stream]
    events = list(load.batches())
    table = table_before(
        load, with_provenance=False, derive_rows=OWN_ROWS.get(contender, derive_raw_rows)
    )
    replay(sent_bodies(contender, events, stub), table)
    assert without_provenance(table) == table_after(
        events, OWN_ROWS.get(contender, derive_by_model)
    )
    assert {*OWN_ROWS} == {"pseudo_code"}


@pytest.mark.parametrize("contender", [*CONTENDERS, "powertools_untraced"])
def test_every_contender_follows_an_order_that_is_created_changed_deleted_and_created_again(
    contender: str, stub: StubClient
) -> None:
    (event,) = Load(20).batches()
    insert = next(record for record in event["Records"] if record["eventName"] == "INSERT")
    new = insert["dynamodb"]["NewImage"]
    delivered = {**new, "status": {"S": "DELIVERED"}}
    steps = [(None, new), (new, delivered), (delivered, None), (None, new), (new, delivered)]
    for length in range(1, len(steps) + 1):
        records = [stream_record(position, *step) for position, step in enumerate(steps[:length])]
        table: Table = {}
        replay(sent_bodies(contender, [{"Records": records}], stub), table)
        expected = table_after([{"Records": records}], OWN_ROWS.get(contender, derive_by_model))
        assert without_provenance(table) == expected, length


@pytest.mark.parametrize("name", TECHNIQUES)
def test_switching_a_technique_off_does_not_change_the_table(name: str, stub: StubClient) -> None:
    load = STREAMS["ordinary"]
    events = list(load.batches())
    table = table_before(load, with_provenance=False)
    with TECHNIQUES[name].without():
        replay(sent_bodies("adminview", events, stub), table)
    assert without_provenance(table) == table_after(events)


@pytest.mark.parametrize("stream", STREAMS)
def test_the_floor_sends_the_same_requests_as_adminview(stream: str, stub: StubClient) -> None:
    def requests(contender: str) -> list[Any]:
        bodies = sent_bodies(contender, list(STREAMS[stream].batches()), stub)
        writes = [write for body in bodies for write in body["RequestItems"]["AdminViewTable"]]
        for write in writes:
            write.get("PutRequest", {}).get("Item", {}).pop("_model", None)
        return sorted(writes, key=repr)

    assert requests("floor") == requests("adminview") == requests("adminview_boto3")


@pytest.mark.parametrize(
    ("load", "calls"),
    [
        (replace(NEUTRAL, records=200, fan_out=1), 8),
        (replace(NEUTRAL, records=200), 24),  # 600 rows, 25 per call
        (replace(ORDINARY, records=200), 15),
    ],
)
def test_a_stream_needs_as_few_calls_as_its_rows_allow(
    load: Load, calls: int, stub: StubClient
) -> None:
    assert len(sent_bodies("adminview", list(load.batches()), stub)) == calls


def test_a_boto3_client_reads_the_same_rows(stub: StubClient) -> None:
    assert stub.url
    engine = QueryEngine(query_registry(), ViewReader(reader(), TABLE))
    for name, run_query in boto3_queries(dynamodb_client()).items():
        rows = [result.row for result in engine.page(name, limit=ROWS, **QUERIES[name]).rows]
        assert rows == run_query()
        assert len({key_of(row) for row in rows}) == ROWS


def test_lean_rows_are_the_same_rows_with_fewer_attributes(stub: StubClient) -> None:
    (event,) = Load(30).batches()
    rows: dict[str, Table] = {}
    for size in ("", LEAN):
        stub.record_bodies()
        with start_workers(stub, ["adminview", "batch_writer"], **{ROWS_VARIABLE: size}) as workers:
            for worker in workers.values():
                worker.run(Load(30))
        table: Table = {}
        replay(stub.take_bodies(), table)
        rows[size] = without_provenance(table)
    assert rows[""] == without_provenance({**rows[""], **table_after([event])}), (
        "full rows are the default"
    )
    for key, row in rows[LEAN].items():
        full = rows[""][key]
        assert {**row, "data": None} == {**full, "data": None}
        assert row["data"]["M"].items() <= full["data"]["M"].items()
        assert len(row["data"]["M"]) == (4 if key[0].startswith("USER#") else 3)


def changes_of(load: Load) -> list[Any]:
    return [record["dynamodb"] for event in load.batches() for record in event["Records"]]


def test_a_stream_has_the_shares_that_its_load_states() -> None:
    neutral = changes_of(NEUTRAL)
    assert (
        len({change["Keys"]["orderId"]["S"] for change in neutral})
        == len(neutral)
        == NEUTRAL.records
    )
    sizes = [row_size(change["NewImage"]) for change in neutral if "NewImage" in change]
    assert max(sizes) == pytest.approx(ITEM_BYTES, rel=0.01)
    ordinary = changes_of(ORDINARY)
    items = {change["Keys"]["orderId"]["S"] for change in ordinary}
    assert 1 - len(items) / len(ordinary) == pytest.approx(0.35, abs=0.05)
    modified = [change for change in ordinary if "OldImage" in change and "NewImage" in change]
    statuses = [(change["OldImage"]["status"], change["NewImage"]["status"]) for change in modified]
    unchanged = [old for old, new in statuses if old == new]
    assert len(unchanged) / len(modified) == pytest.approx(0.25, abs=0.05)


def test_a_load_always_yields_the_same_stream() -> None:
    assert list(ORDINARY.batches()) == list(ORDINARY.batches())


def test_the_largest_batch_is_as_large_as_lambda_allows() -> None:
    load = Load(4000, batch=4000)
    text = largest_batch(load)
    records = loads(text)["Records"]
    assert records == next(load.batches())["Records"][: len(records)]
    assert len(text) <= MAX_PAYLOAD < len(text) + 2 * len(text) / len(records)
