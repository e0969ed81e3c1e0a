"""How the need grows with the load: the table of docs/scale.md."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from cli.costing.load import IndexLoad, SourceLoad
from cli.costing.prices import Prices
from cli.costing.work import MONTH, Work, index_shards
from lambdas.model import Registry
from lambdas.model.index import MOST_SHARDS

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


def growth(registry: Registry, prices: Prices) -> str:
    """Write the table in Markdown."""
    lines = [HEADS, ("---",) * len(HEADS), *(_line(rate, registry, prices) for rate in RATES)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _line(rate: float, registry: Registry, prices: Prices) -> tuple[str, ...]:
    return tuple(_cells(Work.of(replace(REFERENCE, changes=rate), registry), prices))


def _cells(work: Work, prices: Prices) -> Iterator[str]:
    table = work.units[""]
    changes = work.load.changes
    yield f"{changes:,.0f}"
    yield f"{work.busy:,.1f}"
    yield f"{work.stream_shards:,}"
    yield f"{work.parallelization:,}"
    yield f"{table:,.0f}"
    yield f"{sum(work.units.values()) - table:,.0f}"
    shards = index_shards(work.units["GSI1"])
    yield f"{shards}" if shards <= MOST_SHARDS else f"{shards}, over {MOST_SHARDS}"
    yield f"{sum(work.bill(prices).values()) * 1_000_000 / (changes * MONTH):.2f}"
