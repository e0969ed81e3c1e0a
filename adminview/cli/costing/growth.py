"""How the need grows with the load, and which limit comes next: the tables of docs/scale.md."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import floor, log10
from typing import Final

from adminview.cli.costing.load import IndexLoad, SourceLoad
from adminview.cli.costing.measured import FIGURES, USUAL_FIGURES
from adminview.cli.costing.prices import Prices
from adminview.cli.costing.usage import TABLE, per_million
from adminview.cli.costing.work import PARTITION_UNITS, Work, index_shards
from adminview.model import Registry
from adminview.model.index import MOST_SHARDS

RATES: Final = (100, 1_000, 10_000, 50_000)
# Orders of a kilobyte with two products each; every other change gives one another status.
REFERENCE: Final = SourceLoad(
    "Orders",
    changes=1.0,
    rows=3.0,
    row_bytes=600.0,
    unchanged=0.25,
    indexes={"GSI1": IndexLoad(rows=1.0, moves=0.5), "GSI2": IndexLoad(rows=2.0)},
)
HEADS: Final = (
    "changes/s",
    "functions at work",
    "stream shards, at least",
    "batches per shard at a time",
    "write units/s, table",
    "write units/s, indexes",
    "write shards for GSI1",
    "US dollars per million changes",
)
QUOTA_UNITS: Final = 40_000  # write units a second of a table or an index, until AWS raises it
RESERVED: Final = 100  # executions that prod reserves for the sync; a test holds it to infra's

EVER: Final = (
    "any",
    "one item that changes too often for one function: its records stay in order, batch by batch",
    "write it less often",
)


def growth(registry: Registry, prices: Prices) -> str:
    """Write in Markdown what loads take."""
    works = (Work.of(replace(REFERENCE, changes=rate), registry) for rate in RATES)
    return _table(HEADS, (_cells(work, prices) for work in works))


def limits(registry: Registry) -> str:
    """Write in Markdown which limits come when, in their order."""
    found = sorted(_limits(Work.of(REFERENCE, registry)))
    lines = [(f"{_rounded_down(rate):,} changes/s", gives, turn) for rate, gives, turn in found]
    return _table(("beyond", "what gives first", "what to turn"), [*lines, EVER])


def _limits(one: Work) -> Iterator[tuple[float, str, str]]:
    """Find the changes a second at which something gives, by what *one* a second takes."""
    table, by_status = one.units[TABLE], one.units["GSI1"]
    yield (
        PARTITION_UNITS / by_status,
        "one status of `GSI1` takes 1,000 units a second",
        "`shards` of that index, by `adminview apply`",
    )
    if one.busy * PARTITION_UNITS > 1:  # else one function keeps up with all that a shard holds
        yield (
            1 / one.busy,
            "one function per shard does not keep up",
            "`parallelization`, then the function's memory",
        )
    yield (
        QUOTA_UNITS / table,
        "the table's quota of 40,000 write units a second (that of the source itself, at 40,000)",
        "a quota increase; narrower indexes; fewer rows per item",
    )
    yield (
        MOST_SHARDS * PARTITION_UNITS / by_status,
        f"{MOST_SHARDS} write shards, the most that an index may have",
        "a narrower partition key, such as status and region; two deployments with a prefix each",
    )
    yield (
        RESERVED / one.busy,
        f"{RESERVED} executions, which `prod` reserves for the sync",
        "`budgets.syncConcurrency`",
    )


def figures() -> str:
    """Say in a sentence what was measured comes to."""
    three = 1 / (FIGURES.per_record + 3 * FIGURES.per_row)
    return (
        f"That is about {FIGURES.per_record * 1000:.2g} ms of a core for a record and "
        f"{FIGURES.per_row * 1000:.2g} ms for a row,\n"
        f"or {_rounded_down(three):,} records a second with three rows each. The usual way "
        "(Powertools' batch processor, and `put_item`\n"
        f"for each row) is reckoned with {USUAL_FIGURES.per_record * 1000:.2g} ms and "
        f"{USUAL_FIGURES.per_row * 1000:.2g} ms, about what a run of the benchmark took."
    )


def _cells(work: Work, prices: Prices) -> Iterator[str]:
    table = work.units[TABLE]
    changes = work.load.changes
    yield f"{changes:,.0f}"
    yield f"{work.busy:,.1f}" if work.busy >= 1 else f"{work.busy:.2g}"
    yield f"{work.stream_shards:,}"
    yield f"{work.parallelization:,}"
    yield f"{table:,.0f}"
    yield f"{sum(work.units.values()) - table:,.0f}"
    shards = index_shards(work.units["GSI1"])
    yield f"{shards}" if shards <= MOST_SHARDS else f"{shards}, over {MOST_SHARDS}"
    yield f"{per_million(work.bill(prices), changes):.2f}"


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = [*heads]
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _rounded_down(number: float) -> int:
    """Keep two digits."""
    step = 10 ** (floor(log10(number)) - 1)
    return floor(number / step) * int(step) if step >= 1 else floor(number)
