"""What totals cost: their updates, their function, and what a batch of changes saves."""

from dataclasses import replace
from typing import Any

import pytest

from adminview.cli.costing.baseline import BASELINE
from adminview.cli.costing.comparison import compare_observed
from adminview.cli.costing.load import SourceLoad, TotalLoad, read_loads
from adminview.cli.costing.observed import Observed, ObservedTotals, SourceCounts, observe
from adminview.cli.costing.prices import Prices
from adminview.cli.costing.sampled import describe
from adminview.cli.costing.usage import TABLE
from adminview.cli.costing.work import Work
from adminview.model import Registry
from adminview.model.errors import SettingsError
from adminview.model.item import encode
from adminview.model.write_units import Units
from adminview.totals.units import TOTALS_TABLE, contribution_units, positions_kept, update_units
from tests.support import totals_views
from tests.support.deployment import sound
from tests.unit.test_cost_measured import DAY, NOW, Counting

REGISTRY = Registry.of([totals_views])
ORDER = {
    "id": "1",
    "status": "PENDING",
    "shop": "north",
    "day": "2025-03-01",
    "total": 5,
    "lines": {"eggs": {"units": 2, "revenue": 5}, "tea": {"units": 1, "revenue": 3}},
    "note": "-",
}


def work(**totals: TotalLoad) -> Work:
    return Work.of(SourceLoad("Orders", changes=100.0, totals=totals), REGISTRY)


def test_each_change_updates_its_groups_and_a_ranked_one_takes_two_units_more() -> None:
    assert work(DailySales=TotalLoad(1.0)).units[TOTALS_TABLE] == 100
    assert work(DailySales=TotalLoad(2.0)).units[TOTALS_TABLE] == 200
    assert work(ProductSales=TotalLoad(1.0)).units[TOTALS_TABLE] == 300
    both = work(DailySales=TotalLoad(2.0), ProductSales=TotalLoad(1.0))
    assert both.units[TOTALS_TABLE] == 500


def test_changes_of_the_same_groups_are_added_up_first() -> None:
    """A batch a second, as long as one is not full."""
    assert work(DailySales=TotalLoad(1.0, groups=20)).units[TOTALS_TABLE] == 20


def test_the_totals_function_is_paid_for_and_reads_its_stream_for_nothing() -> None:
    with_totals, without = work(DailySales=TotalLoad(1.0)), work()
    assert TOTALS_TABLE not in without.units
    assert with_totals.usage.invocations > without.usage.invocations
    assert with_totals.usage.memory_seconds > without.usage.memory_seconds
    bill = with_totals.bill(Prices())
    assert bill["writes to the totals table"] > 0
    assert bill["reads of the stream"] == 0


def test_without_a_description_the_output_states_that_no_row_contributes() -> None:
    (load,) = read_loads({"Orders": {"changesPerSecond": 1}}, REGISTRY)
    assert "no row contributes to a total" in load.assumed


def test_the_baseline_keeps_no_totals() -> None:
    load = SourceLoad("Orders", changes=100.0, totals={"DailySales": TotalLoad(1.0)})
    assert TOTALS_TABLE not in Work.of(load, REGISTRY, BASELINE).units


@pytest.mark.parametrize(("shards", "positions"), [(1, 15), (4, 35), (30, 35), (50, 53)])
def test_positions_come_from_the_shards_of_a_day(shards: int, positions: int) -> None:
    assert positions_kept(shards) == positions


def test_more_positions_take_more_units() -> None:
    group = ("DailySales.1#north", "2025-03-01")
    assert [update_units(group, {}, count).table for count in (1, 30, 60, 200)] == [1, 1, 2, 5]


def test_a_row_costs_an_update_for_each_group_that_it_moves() -> None:
    def row(status: str) -> Any:
        return {"_totals": {"M": {"OrdersByStatus.1": {"M": {status: {"M": {}}}}}}}

    assert contribution_units(None, row("PAID")) == Units(0, {TOTALS_TABLE: 1})
    assert contribution_units(row("PENDING"), row("PAID")) == Units(0, {TOTALS_TABLE: 2})
    assert contribution_units(row("PAID"), row("PAID")) == Units()
    assert contribution_units(row("PAID"), None, positions=200) == Units(0, {TOTALS_TABLE: 5})


def test_a_sample_tells_what_its_rows_contribute() -> None:
    item = {name: encode(value) for name, value in ORDER.items()}
    described = describe(REGISTRY.source("Orders"), [item], REGISTRY)
    assert described["totals"] == {
        "OrdersByStatus": {"updates": 1.0},
        "DailySales": {"updates": 1.0},
        "ProductSales": {"updates": 2.0},
    }
    (load,) = read_loads({"Orders": {"changesPerSecond": 1, **described}}, REGISTRY)
    assert load.totals["ProductSales"] == TotalLoad(2.0)
    assert any("different groups of OrdersByStatus" in words for words in load.assumed)
    (again,) = read_loads({"Orders": load.data()}, REGISTRY)
    assert again == load


@pytest.mark.parametrize(
    ("totals", "reason"),
    [
        ([], "Orders.totals is []; expected"),
        ({"Sales": {"updates": 1}}, "unknown total; the view files declare OrdersByStatus"),
        ({"DailySales": {}}, "Orders.totals.DailySales is {}; expected"),
        ({"DailySales": {"updates": -1}}, "Orders.totals.DailySales.updates is -1"),
        ({"DailySales": {"updates": 1, "groups": "x"}}, "Orders.totals.DailySales.groups is 'x'"),
    ],
)
def test_a_load_that_cannot_be_is_refused(totals: Any, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason.replace("[]", r"\[\]").replace("{}", r"\{\}")):
        read_loads({"Orders": {"changesPerSecond": 1, "totals": totals}}, REGISTRY)


def test_measured_totals_are_ours_alone() -> None:
    observed = Observed(
        DAY,
        {"Orders": SourceCounts(100.0, 100.0, 0.0, 100.0)},
        {TABLE: 100.0},
        5.0,
        10.0,
        1.0,
        512,
        9.0,
    )
    counted = replace(observed, totals=ObservedTotals(DAY, DAY, DAY, 1024, 50.0))
    plain, with_totals = compare_observed(observed), compare_observed(counted)
    assert with_totals.ours.units[TOTALS_TABLE] == 1.0
    assert with_totals.ours.invocations == plain.ours.invocations + 1
    assert with_totals.ours.memory_seconds == pytest.approx(plain.ours.memory_seconds + 1)
    assert with_totals.ours.stored_bytes == plain.ours.stored_bytes + 50
    assert with_totals.baseline == plain.baseline


def test_what_the_totals_used_is_read() -> None:
    here = Counting(**vars(sound()))
    view = here.tables["AdminViewTable"]
    here.tables["AdminViewTotals"] = {**view, "GlobalSecondaryIndexes": []}
    here.functions["totals"] = {**here.functions["sync"], "MemorySize": 256}
    here.functions["sync"]["MemorySize"] = 512
    totals = ("TableName", "AdminViewTotals")
    here.count("AWS/DynamoDB", "ConsumedWriteCapacityUnits", 8.0, totals)
    here.count("AWS/Lambda", "Duration", 3000.0, ("FunctionName", "totals"))
    here.count("AWS/Lambda", "Invocations", 4.0, ("FunctionName", "totals"))
    settings = here.deployment().settings
    observed = observe(here.aws(), settings, "sync", 24, NOW, totals_function="totals").totals
    assert observed
    assert (observed.units, observed.function_seconds, observed.invocations) == (8.0, 3.0, 4.0)
    assert observed.memory_mb == 256
