"""What holds for every bill, whatever the load."""

from dataclasses import asdict, replace
from json import dumps, loads

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adminview.aws.observability import CHECKED, DRIFT, IN_DOUBT, LAG, UNFINISHED
from adminview.cli.costing.baseline import ADMINVIEW, BASELINE, METRICS, SyncMethod
from adminview.cli.costing.load import ASSUMED, IndexLoad, SourceLoad, read_loads
from adminview.cli.costing.prices import Prices
from adminview.cli.costing.usage import TABLE, Bill, per_million, sum_bills
from adminview.cli.costing.work import Work
from adminview.model.row import OWNER_INDEX
from adminview.sync.counts import BatchCounts
from infra.stages import PROD
from tests.support.model import registry
from tests.support.scale_tables import RESERVED, limits

NAMES = [index.name for index in registry().indexes if index != OWNER_INDEX]
SHARE = st.floats(0, 1)
# None, or at least one in eleven days: of less, floats have too few digits to be compared.
AMOUNT = st.just(0.0) | st.floats(1e-6, 100_000)
SIZE = st.floats(0, 400_000)


@st.composite
def loads_of_orders(draw: st.DrawFn) -> SourceLoad:
    rows = draw(st.floats(0, 100))
    members = draw(st.lists(st.sampled_from(NAMES), unique=True))
    return SourceLoad(
        "Orders",
        changes=draw(AMOUNT),
        item_bytes=draw(SIZE),
        items=draw(st.floats(0, 1e9)),
        rows=rows,
        row_bytes=draw(SIZE),
        unchanged=draw(SHARE),
        repeated=draw(SHARE),
        appearing=draw(SHARE),
        indexes={name: IndexLoad(draw(st.floats(0, rows)), draw(SHARE)) for name in members},
    )


def at_most(value: float, other: float) -> bool:
    """Compare as far as floats are exact."""
    return value <= other * (1 + 1e-9) + 1e-9


def bill(load: SourceLoad, method: SyncMethod = ADMINVIEW) -> Bill:
    return Work.of(load, registry(), method).bill(Prices())


@given(loads_of_orders())
def test_no_line_is_ever_negative(load: SourceLoad) -> None:
    for method in (ADMINVIEW, BASELINE):
        assert min(bill(load, method).values()) >= 0


@given(loads_of_orders(), st.integers(2, 50))
def test_writes_and_time_grow_in_step_with_the_changes_and_what_is_kept_stays(
    load: SourceLoad, times: int
) -> None:
    for method in (ADMINVIEW, BASELINE):
        once, often = bill(load, method), bill(replace(load, changes=load.changes * times), method)
        for line, dollars in once.items():
            if line in ("storage", "recovery to any second", "metrics"):
                assert often[line] == dollars
            elif line in ("function, requests", "logs"):  # fuller batches are fewer
                assert at_most(often[line], dollars * times)
            else:
                assert often[line] == pytest.approx(dollars * times)


@given(loads_of_orders(), SHARE)
def test_the_less_stays_unchanged_the_more_it_costs(load: SourceLoad, other: float) -> None:
    low, high = sorted((load.unchanged, other))
    for method in (ADMINVIEW, BASELINE):
        more, less = (bill(replace(load, unchanged=share), method) for share in (low, high))
        assert all(more[line] >= less[line] for line in more)


@given(loads_of_orders())
def test_neither_the_table_nor_a_declared_index_takes_more_than_the_baseline(
    load: SourceLoad,
) -> None:
    ours, baseline = (Work.of(load, registry(), method) for method in (ADMINVIEW, BASELINE))
    assert ours.rows <= baseline.rows
    assert {*ours.units} - {*baseline.units} == {OWNER_INDEX.name}
    for name, units in baseline.units.items():
        assert at_most(ours.units[name], units)
    assert at_most(ours.units[OWNER_INDEX.name], ours.units[TABLE])  # a unit for each row
    assert at_most(ours.busy, baseline.busy)


def test_without_anything_to_skip_both_ways_write_the_same() -> None:
    load = SourceLoad("Orders", 10.0, rows=2.0, indexes={"GSI1": IndexLoad(1.0, 0.5)})
    ours, baseline = (
        dict(Work.of(load, registry(), method).units) for method in (ADMINVIEW, BASELINE)
    )
    assert ours.pop(OWNER_INDEX.name) == 2.0
    assert ours == baseline


def test_a_row_put_again_as_it_is_takes_units_of_the_table_and_none_of_an_index() -> None:
    load = SourceLoad("Orders", 10.0, unchanged=1.0, indexes={"GSI1": IndexLoad(1.0, 0.5)})
    assert Work.of(load, registry(), BASELINE).units == {TABLE: 10.0, "GSI1": 0.0}
    assert sum(Work.of(load, registry()).units.values()) == 0


def test_one_row_after_another_waits_for_each_answer() -> None:
    waits = replace(BASELINE, figures=replace(BASELINE.figures, per_record=0.0, per_row=0.0))
    assert Work.of(SourceLoad("Orders", 100.0, rows=2.0), registry(), waits).busy == 200 * 0.008


@given(loads_of_orders())
def test_a_description_survives_json(load: SourceLoad) -> None:
    (again,) = read_loads(loads(dumps({"Orders": load.data()})), registry())
    assert again == load
    assert again.assumed == ()


@given(st.lists(loads_of_orders(), min_size=1, max_size=4))
def test_bills_of_several_sources_add_up(several: list[SourceLoad]) -> None:
    changes = sum(load.changes for load in several)
    assume(changes)
    bills = [bill(load) for load in several]
    total = sum_bills(bills)
    assert sum(total.values()) == pytest.approx(sum(sum(lines.values()) for lines in bills))
    each = per_million(total, changes)
    assert each is not None
    assert each * changes * 30 * 86400 / 1e6 == pytest.approx(sum(total.values()))


def test_the_stated_assumptions_are_the_numbers_of_the_load() -> None:
    (load,) = read_loads({"Orders": {"changesPerSecond": 1}}, registry())
    # Totals are not mentioned: the model has none.
    assert load.assumed == tuple(words for name, words in ASSUMED.items() if name != "totals")
    assert load == SourceLoad("Orders", 1.0, 1024, 0, 1, 1024, 0, 0, 0.1, {})


def test_prices_that_are_given_replace_those_of_their_name() -> None:
    given_prices = {"region": "eu-west-1", "as_of": "2026-11", "write_units": 0.7}
    assert asdict(Prices().override(given_prices)) == asdict(Prices()) | given_prices


def test_as_many_metrics_are_paid_for_as_a_source_has() -> None:
    assert len({*BatchCounts().counts(), LAG, CHECKED, DRIFT, UNFINISHED} - {IN_DOUBT}) == METRICS


def test_limits_stand_in_their_order_with_what_prod_reserves() -> None:
    assert PROD.sync_concurrency == RESERVED
    lines = limits(registry()).splitlines()[2:-1]
    rates = [int(line.split()[1].replace(",", "")) for line in lines]
    assert rates == sorted(rates)
    assert len(rates) >= 4
