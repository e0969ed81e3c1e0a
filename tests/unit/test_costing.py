"""Estimates follow the rules by which DynamoDB and Lambda bill."""

from dataclasses import replace
from typing import Any

import pytest

from adminview.cdk.constructs import sync_pipeline
from adminview.cli.costing.baseline import ADMINVIEW, Figures
from adminview.cli.costing.load import EXAMPLE, IndexLoad, SourceLoad, read_loads
from adminview.cli.costing.prices import Prices
from adminview.cli.costing.usage import MONTH
from adminview.cli.costing.work import MEMORY_MB, Work
from adminview.model import Index
from adminview.model.row import OWNER_INDEX
from adminview.model.write_units import write_units
from tests.support.model import registry
from tests.support.scale_page import PAGE, with_computed_parts
from tests.support.scale_tables import REFERENCE, growth, index_shards

FREE = Figures(per_record=0.0, per_row=0.0, per_call=0.0)


def work(figures: Figures = FREE, **load: Any) -> Work:
    return Work.of(SourceLoad("Orders", **load), registry(), replace(ADMINVIEW, figures=figures))


def row(size: int, **keys: str) -> Any:
    """Make a row of about *size* bytes."""
    keys_of_row = {"PK": {"S": "P"}, "SK": {"S": "S"}, "_owner": {"S": "o"}}
    keys_of_row |= {name: {"S": value} for name, value in keys.items()}
    return {**keys_of_row, "data": {"M": {"text": {"S": "x" * size}}}}


def test_a_row_takes_what_dynamodb_takes_for_it() -> None:
    """Count one change by the rules of single writes, and as a load."""
    (by_status,) = [index for index in registry().indexes if index.name == "GSI1"]
    before = row(1500, GSI1_PK="PENDING", GSI1_SK="1")
    after = row(1500, GSI1_PK="PAID", GSI1_SK="1")
    single = write_units(before, after, [by_status, OWNER_INDEX])
    counted = work(
        changes=1.0, row_bytes=1600.0, appearing=0.0, indexes={"GSI1": IndexLoad(1.0, moves=1.0)}
    )
    assert counted.units == {"": single.table, "GSI1": single.indexes["GSI1"], "Owner": 0.0}


def test_a_new_row_stands_in_the_owner_index_too() -> None:
    single = write_units(None, row(100), [OWNER_INDEX])
    assert work(changes=1.0, appearing=1.0).units == {"": single.table, **single.indexes}


def test_an_entry_of_keys_alone_takes_one_unit_however_large_the_row() -> None:
    model = replace(registry(), indexes=(Index("Keys", partition="k"),))
    load = SourceLoad("Orders", 1.0, row_bytes=5000.0, indexes={"Keys": IndexLoad(1.0)})
    coming = replace(load, appearing=1.0)
    counted = Work.of(coming, model, replace(ADMINVIEW, figures=FREE))
    assert (counted.units[""], counted.units["Keys"]) == (5, 1)


def test_an_entry_of_keys_alone_takes_nothing_while_its_row_stays_where_it_is() -> None:
    model = replace(registry(), indexes=(Index("Keys", partition="k"),))
    load = SourceLoad("Orders", 1.0, appearing=0.1, indexes={"Keys": IndexLoad(1.0)})
    assert Work.of(load, model, ADMINVIEW).units["Keys"] == pytest.approx(0.1)
    moving = replace(load, appearing=0.0, indexes={"Keys": IndexLoad(1.0, moves=0.5)})
    assert Work.of(moving, model, ADMINVIEW).units["Keys"] == pytest.approx(0.5 * 2)


def test_what_no_row_shows_and_what_is_overruled_is_not_written() -> None:
    counted = work(changes=100.0, rows=2.0, unchanged=0.5, repeated=0.2, appearing=0.0)
    assert counted.rows == counted.units[""] == 100 * 0.5 * 0.8 * 2


def test_functions_at_work_follow_from_the_share_of_a_core_they_have() -> None:
    busy = work(Figures(0.001, 0.0, 0.0), changes=1000.0).busy
    assert busy == pytest.approx(1769 / 512)
    waiting = work(Figures(0.0, 0.0, 0.008), changes=25_000.0).busy
    assert waiting == pytest.approx(1000 * 0.008 / 24)


def test_batches_are_as_full_as_the_window_lets_them_become() -> None:
    assert work(changes=0.5).usage.invocations == 0.5  # each alone
    assert work(changes=400.0).usage.invocations == 1  # one a second
    large = work(changes=900.0, item_bytes=5000.0)
    assert large.usage.invocations == 5  # one a second from each shard
    assert work(changes=9000.0).usage.invocations == 9


def test_shards_are_what_a_thousand_units_each_come_to() -> None:
    assert work(changes=10_000.0).stream_shards == 10
    assert work(changes=10_000.0, item_bytes=1025.0).stream_shards == 20
    assert work(Figures(0.001, 0, 0), changes=1000.0).parallelization == 4
    assert [index_shards(units) for units in (0, 1000, 1001)] == [1, 1, 2]


def test_a_bill_multiplies_a_month() -> None:
    counted = work(changes=1.0, items=1000.0, appearing=0.0)
    bill = counted.bill(Prices())
    assert bill["writes to the table"] == pytest.approx(MONTH / 1e6 * 0.625)
    assert bill["function, requests"] == pytest.approx(MONTH / 1e6 * 0.20)
    assert bill["reads of the stream"] == 0.0
    assert bill["storage"] == pytest.approx(1000 * (1024 + 100 + 256 + 100) / 1e9 * 0.25)
    cheaper = counted.bill(Prices().override({"write_units": 0, "region": "elsewhere"}))
    assert cheaper["writes to the table"] == 0


@pytest.mark.parametrize(
    ("prices", "reason"),
    [
        ([], "found list; expected an object with region"),
        ({"writes": 1}, "unknown 'writes'; expected region, as_of, write_units"),
        ({"write_units": -1}, "write_units is -1; expected a number of US dollars, 0 or more"),
        ({"write_units": True}, "write_units is True; expected a number"),
        ({"as_of": 2026}, "as_of is 2026; expected text"),
    ],
)
def test_prices_that_make_no_sense_are_refused(prices: object, reason: str) -> None:
    with pytest.raises(Exception, match=reason):
        Prices().override(prices)


def test_a_description_is_read() -> None:
    loads = {
        "Orders": {
            "changesPerSecond": 100,
            "rows": 3,
            "rowBytes": 600,
            "unchanged": 0.25,
            "indexes": {"GSI1": {"rows": 1, "moves": 0.5}},
        }
    }
    (load,) = read_loads(loads, registry())
    assert load.written == 75
    assert load.indexes == {"GSI1": IndexLoad(1.0, 0.5)}
    assert str(loads).replace("'", '"') == EXAMPLE


@pytest.mark.parametrize(
    ("loads", "reason"),
    [
        ([], "expected an object such as"),
        ({}, "expected an object such as"),
        ({"Order": {"changesPerSecond": 1}}, "unknown source 'Order'; the view files declare"),
        ({"Orders": 100}, "Orders is 100; expected an object such as"),
        ({"Orders": {}}, "Orders: changesPerSecond is missing"),
        ({"Orders": {"changesPerSecond": 1, "row": 1}}, "unknown 'row'; expected"),
        ({"Orders": {"changesPerSecond": -1}}, "changesPerSecond is -1; expected a number"),
        ({"Orders": {"changesPerSecond": "1"}}, "changesPerSecond is '1'; expected a number"),
        ({"Orders": {"changesPerSecond": 1, "unchanged": 25}}, "unchanged is 25; expected a share"),
        ({"Orders": {"changesPerSecond": 1, "indexes": []}}, r"indexes is \[\]; expected"),
        (
            {"Orders": {"changesPerSecond": 1, "indexes": {"GSI9": {"rows": 1}}}},
            "unknown index; the view files declare",
        ),
        (
            {"Orders": {"changesPerSecond": 1, "indexes": {"GSI1": 1}}},
            "indexes.GSI1 is 1; expected",
        ),
        (
            {"Orders": {"changesPerSecond": 1, "indexes": {"GSI1": {"rows": 1, "moves": 2}}}},
            "moves is 2; expected a share",
        ),
    ],
)
def test_a_description_that_makes_no_sense_is_refused(loads: object, reason: str) -> None:
    with pytest.raises(Exception, match=reason):
        read_loads(loads, registry())


def test_the_function_is_the_one_that_is_deployed() -> None:
    assert sync_pipeline.MEMORY_MB == MEMORY_MB


def test_the_table_of_growth_is_in_step_with_the_load() -> None:
    lines = growth(registry(), Prices()).splitlines()[2:]
    units = [line.split(" | ")[4] for line in lines]
    shown = REFERENCE.rows * (1 - REFERENCE.unchanged)
    assert units == [f"{rate * shown:,.0f}" for rate in (100, 1000, 10_000, 50_000)]


@pytest.mark.shop
def test_the_computed_parts_of_the_docs_are_up_to_date() -> None:
    page = PAGE.read_text()
    assert with_computed_parts(page) == page, "run python -m tests.support.scale_page"
    assert EXAMPLE in page
