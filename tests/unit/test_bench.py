"""What is measured is the same work, and what is told is what was measured. Nothing is timed."""

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
from bench.asking.model import QUESTIONS, ROWS
from bench.asking.model import registry as questions
from bench.asking.plain import plain_questions
from bench.crew import crew
from bench.endpoint import Endpoint, endpoint
from bench.measure import OTHER_ROWS
from bench.model import order, orders
from bench.streams import ITEM_BYTES, NEUTRAL, ORDINARY, PAYLOAD, Load, largest_batch, record_of
from bench.techniques import TECHNIQUES
from bench.units import RowsOf, Table, replay, table_before
from bench.ways import TABLE, WAYS, connect, environment, is_ambient
from bench.ways.rows import LEAN, SETTING, wire_rows_of

SMALL = 60  # records
STREAMS = {
    "neutral": replace(NEUTRAL, records=SMALL),
    "ordinary": replace(ORDINARY, records=SMALL, batch=40),
    "many rows": replace(ORDINARY, records=20, fan_out=8),
}


@pytest.fixture(scope="module")
def there() -> Iterator[Endpoint]:
    with endpoint() as stub, pytest.MonkeyPatch.context() as patch:
        for name in filter(is_ambient, [*os.environ]):
            patch.delenv(name)
        patch.setenv("AWS_XRAY_SDK_ENABLED", "false")  # the Tracer sets it, and leaves it set
        for name, value in environment(stub.url).items():
            patch.setenv(name, value)
        yield stub


def sent(way: str, events: list[Any], there: Endpoint) -> list[dict[str, Any]]:
    """Let one way handle events, and give what it sent."""
    handle = connect(way)
    there.keep()
    for event in events:
        handle(event)
    return there.bodies()


def shown(table: Table) -> Table:
    """Leave out where rows come from, and spell their values in one way."""
    return {
        key: canonical({name: value for name, value in row.items() if name not in PROVENANCE})
        for key, row in table.items()
    }


def by_the_model(image: Any) -> list[Attributes]:
    """Derive the rows of an order with the model itself."""
    return [row.attributes() for row in order(Item(image))]


def table_after(events: list[Any], rows_of: RowsOf = by_the_model) -> Table:
    """Derive the rows of all orders as the stream leaves them."""
    changes = [record["dynamodb"] for event in events for record in event["Records"]]
    last = {orders.owner(change["Keys"]): change.get("NewImage") for change in changes}
    return shown({key_of(row): row for image in last.values() if image for row in rows_of(image)})


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("stream", STREAMS)
def test_every_way_leaves_the_same_table(way: str, stream: str, there: Endpoint) -> None:
    load = STREAMS[stream]
    events = list(load.batches())
    table = table_before(load, stamped=False, rows_of=OTHER_ROWS.get(way, wire_rows_of))
    replay(sent(way, events, there), table)
    assert shown(table) == table_after(events, OTHER_ROWS.get(way, by_the_model))
    assert {*OTHER_ROWS} == {"pseudo_code"}


@pytest.mark.parametrize("way", [*WAYS, "untraced"])
def test_every_way_follows_an_order_that_comes_changes_goes_and_comes_again(
    way: str, there: Endpoint
) -> None:
    (event,) = Load(20).batches()
    first = next(one for one in event["Records"] if one["eventName"] == "INSERT")
    new = first["dynamodb"]["NewImage"]
    done = {**new, "status": {"S": "DELIVERED"}}
    steps = [(None, new), (new, done), (done, None), (None, new), (new, done)]
    for length in range(1, len(steps) + 1):
        records = [record_of(place, *step) for place, step in enumerate(steps[:length])]
        table: Table = {}
        replay(sent(way, [{"Records": records}], there), table)
        expected = table_after([{"Records": records}], OTHER_ROWS.get(way, by_the_model))
        assert shown(table) == expected, length


@pytest.mark.parametrize("name", TECHNIQUES)
def test_a_technique_changes_nothing_but_what_it_takes(name: str, there: Endpoint) -> None:
    load = STREAMS["ordinary"]
    events = list(load.batches())
    table = table_before(load, stamped=False)
    with TECHNIQUES[name].without():
        replay(sent("adminview", events, there), table)
    assert shown(table) == table_after(events)


@pytest.mark.parametrize("stream", STREAMS)
def test_the_floor_sends_what_we_send(stream: str, there: Endpoint) -> None:
    def requests(way: str) -> list[Any]:
        bodies = sent(way, list(STREAMS[stream].batches()), there)
        lines = [one for body in bodies for one in body["RequestItems"]["AdminViewTable"]]
        for line in lines:
            line.get("PutRequest", {}).get("Item", {}).pop("_model", None)
        return sorted(lines, key=repr)

    assert requests("floor") == requests("adminview") == requests("plain")


@pytest.mark.parametrize(
    ("load", "calls"),
    [
        (replace(NEUTRAL, records=200, fan_out=1), 8),
        (replace(NEUTRAL, records=200), 24),  # 600 rows, 25 in a call
        (replace(ORDINARY, records=200), 15),
    ],
)
def test_a_stream_takes_the_calls_that_its_rows_need(
    load: Load, calls: int, there: Endpoint
) -> None:
    assert len(sent("adminview", list(load.batches()), there)) == calls


def test_asking_by_hand_finds_the_same_rows(there: Endpoint) -> None:
    assert there.url
    asker = QueryEngine(questions(), ViewReader(reader(), TABLE))
    for name, ask in plain_questions(dynamodb_client()).items():
        rows = [one.row for one in asker.page(name, limit=ROWS, **QUESTIONS[name]).rows]
        assert rows == ask()
        assert len({key_of(row) for row in rows}) == ROWS


def test_rows_that_show_little_are_the_same_rows_with_less_in_them(there: Endpoint) -> None:
    (event,) = Load(30).batches()
    rows: dict[str, Table] = {}
    for size in ("", LEAN):
        there.keep()
        with crew(there, ["adminview", "batch_writer"], **{SETTING: size}) as workers:
            for worker in workers.values():
                worker.run(Load(30))
        table: Table = {}
        replay(there.bodies(), table)
        rows[size] = shown(table)
    assert rows[""] == shown({**rows[""], **table_after([event])}), "as they are without a word"
    for key, row in rows[LEAN].items():
        whole = rows[""][key]
        assert {**row, "data": None} == {**whole, "data": None}
        assert row["data"]["M"].items() <= whole["data"]["M"].items()
        assert len(row["data"]["M"]) == (4 if key[0].startswith("USER#") else 3)


def test_streams_are_what_their_description_says() -> None:
    neutral = [one["dynamodb"] for event in NEUTRAL.batches() for one in event["Records"]]
    assert len({one["Keys"]["orderId"]["S"] for one in neutral}) == len(neutral) == NEUTRAL.records
    sizes = [row_size(one["NewImage"]) for one in neutral if "NewImage" in one]
    assert max(sizes) == pytest.approx(ITEM_BYTES, rel=0.01)
    ordinary = [one["dynamodb"] for event in ORDINARY.batches() for one in event["Records"]]
    items = {one["Keys"]["orderId"]["S"] for one in ordinary}
    assert 1 - len(items) / len(ordinary) == pytest.approx(0.35, abs=0.05)
    changed = [one for one in ordinary if "OldImage" in one and "NewImage" in one]
    unseen = [one for one in changed if one["OldImage"]["status"] == one["NewImage"]["status"]]
    assert len(unseen) / len(changed) == pytest.approx(0.25, abs=0.05)


def test_the_same_description_gives_the_same_stream() -> None:
    assert list(ORDINARY.batches()) == list(ORDINARY.batches())


def test_the_largest_batch_is_as_large_as_lambda_lets_it_be() -> None:
    load = Load(4000, batch=4000)
    text = largest_batch(load)
    records = loads(text)["Records"]
    assert records == next(load.batches())["Records"][: len(records)]
    assert len(text) <= PAYLOAD < len(text) + 2 * len(text) / len(records)
