"""The tables of docs/scale.md: what a workload needs as it grows, and which limit comes next."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import ceil, floor, log10
from typing import Final

from adminview.cli.costing.baseline import BASELINE_FIGURES, FIGURES
from adminview.cli.costing.load import IndexLoad, SourceLoad
from adminview.cli.costing.prices import Prices
from adminview.cli.costing.usage import TABLE, per_million
from adminview.cli.costing.work import PARTITION_UNITS, Work
from adminview.model import Registry
from adminview.model.index import MOST_SHARDS

RATES: Final = (100, 1_000, 10_000, 50_000)
# Orders of 1 KB with two products each; every second change changes the status.
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
    "concurrent functions",
    "stream shards, at least",
    "concurrent batches per shard",
    "write units/s, table",
    "write units/s, indexes",
    "write shards for GSI1",
    "US dollars per million changes",
)
QUOTA_UNITS: Final = 40_000  # default quota of a table or an index, write units per second
RESERVED: Final = 100  # concurrency that prod reserves for the sync; a test compares it with infra

EVER: Final = (
    "any",
    "one item that changes too often for one function: its records are processed in order",
    "write it less often",
)


def growth(registry: Registry, prices: Prices) -> str:
    """Return a Markdown table of what each rate needs."""
    works = (Work.of(replace(REFERENCE, changes=rate), registry) for rate in RATES)
    return _table(HEADS, (_cells(work, prices) for work in works))


def limits(registry: Registry) -> str:
    """Return a Markdown table of the limits, lowest rate first."""
    limits_by_rate = sorted(_limits(Work.of(REFERENCE, registry)))
    lines = [
        (f"{_rounded_down(rate):,} changes/s", limit, remedy)
        for rate, limit, remedy in limits_by_rate
    ]
    return _table(("beyond", "limit", "what to change"), [*lines, EVER])


def _limits(work: Work) -> Iterator[tuple[float, str, str]]:
    """Yield the rate at which each limit is reached, from the work of one change per second."""
    table, by_status = work.units[TABLE], work.units["GSI1"]
    yield (
        PARTITION_UNITS / by_status,
        "one status of `GSI1` reaches 1,000 write units per second",
        "`shards` of that index, with `adminview apply`",
    )
    if work.busy * PARTITION_UNITS > 1:  # else one function keeps up with a full shard
        yield (
            1 / work.busy,
            "one function per shard does not keep up",
            "`budgets.syncParallelization`, then the function's memory",
        )
    yield (
        QUOTA_UNITS / table,
        "the table's quota of 40,000 write units per second (the source's own, at 40,000)",
        "a quota increase; narrower indexes; fewer rows per item",
    )
    yield (
        MOST_SHARDS * PARTITION_UNITS / by_status,
        f"{MOST_SHARDS} write shards, the most an index may have",
        "a narrower partition key, such as status and region; two deployments with a prefix each",
    )
    yield (
        RESERVED / work.busy,
        f"the concurrency of {RESERVED} that `prod` reserves for the sync",
        "`budgets.syncConcurrency`",
    )


def figures() -> str:
    """Return the measured figures as a sentence."""
    three = 1 / (FIGURES.per_record + 3 * FIGURES.per_row)
    return (
        f"That is about {FIGURES.per_record * 1000:.2g} ms of a core per record and "
        f"{FIGURES.per_row * 1000:.2g} ms per row,\n"
        f"or {_rounded_down(three):,} records per second with three rows each. The baseline "
        "(Powertools batch + `put_item`)\n"
        f"is estimated with {BASELINE_FIGURES.per_record * 1000:.2g} ms and "
        f"{BASELINE_FIGURES.per_row * 1000:.2g} ms, about what a run of the benchmark took."
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


def index_shards(units: float) -> int:
    """Return the write shards that an index needs if one partition key gets all writes.

    A row that moves writes to two partitions, so each gets about half. This margin is kept, because
    the busiest partition gets more than the average.
    """
    return max(1, ceil(units / PARTITION_UNITS))


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = [*heads]
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _rounded_down(number: float) -> int:
    """Round down to two significant digits."""
    step = 10 ** (floor(log10(number)) - 1)
    return floor(number / step) * int(step) if step >= 1 else floor(number)
