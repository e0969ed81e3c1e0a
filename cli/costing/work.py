"""What a load takes: of the function, of the table, and of each index."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final

from cli.costing.load import IndexLoad, SourceLoad
from cli.costing.measured import FIGURES, Figures
from cli.costing.prices import Prices
from lambdas.aws.together import AT_ONCE
from lambdas.aws.view_table import BATCH_LIMIT
from lambdas.model import Index, Registry
from lambdas.model.delivery import Delivery
from lambdas.model.row import DATA, OWNER_INDEX
from lambdas.model.write_units import UNIT

MEMORY_MB: Final = 512  # of the sync function; a test holds it to infra's
CORE_MB: Final = 1769  # of memory come with one whole core, set by Lambda
MOST_PARALLEL: Final = 10  # batches of one shard at a time, set by Lambda
PARTITION_UNITS: Final = 1000  # write units a second that one partition takes, set by DynamoDB
KEYS_BYTES: Final = 256  # of an entry that holds keys alone, about
ROW_OVERHEAD: Final = 100  # bytes that DynamoDB stores with each row and entry
LOG_BYTES: Final = 2048  # of an invocation: a line, and its metrics
MONTH: Final = 30 * 24 * 60 * 60  # seconds
MILLION: Final = 1_000_000
GIGABYTE: Final = 10**9


@dataclass(frozen=True, slots=True)
class Work:
    """What one source takes, each second."""

    load: SourceLoad
    rows: float  # written
    units: Mapping[str, float]  # write units, of the table (by the name "") and of each index
    busy: float  # functions that are at work at once
    invocations: float
    stored_bytes: float

    @classmethod
    def of(cls, load: SourceLoad, registry: Registry, figures: Figures = FIGURES) -> "Work":
        """Count it."""
        rows = load.shown * load.rows
        processor = load.changes * figures.per_record + rows * figures.per_row
        waiting = rows / BATCH_LIMIT * figures.per_call / AT_ONCE
        return cls(
            load,
            rows,
            _units(load, registry),
            processor * CORE_MB / MEMORY_MB + waiting,
            _invocations(load),
            _stored(load, registry),
        )

    @property
    def stream_shards(self) -> int:
        """Shards of the source's stream: at least one per partition, as its writes need them."""
        return max(1, ceil(self.load.changes * _size(self.load.item_bytes) / PARTITION_UNITS))

    @property
    def parallelization(self) -> int:
        """Batches of one shard at a time that keep up with it."""
        return max(1, ceil(self.busy / self.stream_shards))

    def bill(self, prices: Prices) -> dict[str, float]:
        """Price a month, line by line."""
        lines = {
            f"writes to {name or 'the table'}": units * MONTH / MILLION * prices.write_units
            for name, units in self.units.items()
        }
        time = self.busy * MEMORY_MB / 1024 * MONTH
        return lines | {
            "reads of the stream": 0.0,  # Lambda's are free
            "function, time": time * prices.function_time,
            "function, requests": self.invocations * MONTH / MILLION * prices.function_requests,
            "logs": self.invocations * LOG_BYTES * MONTH / GIGABYTE * prices.log_bytes,
            "storage": self.stored_bytes / GIGABYTE * prices.table_storage,
        }


def index_shards(units: float) -> int:
    """Say how many write shards an index needs if one of its partitions gets all that is written.

    A row that moves goes from one partition to another, so each gets about half of it; that is kept
    in hand, for the hottest is never an average one.
    """
    return max(1, ceil(units / PARTITION_UNITS))


def _units(load: SourceLoad, registry: Registry) -> dict[str, float]:
    """Count write units; the owner index takes some only when rows come or go."""
    units = {"": load.shown * load.rows * _size(load.row_bytes)}
    for index, member in _members(load, registry):
        entry = _size(_entry_bytes(index, load))
        units[index.name] = load.shown * member.rows * entry * (1 + member.moves)
    units[OWNER_INDEX.name] = load.changes * load.appearing * load.rows
    return units


def _invocations(load: SourceLoad) -> float:
    """Count batches: each is full, or a window old."""
    delivery = Delivery()
    shards = max(1, ceil(load.changes * _size(load.item_bytes) / PARTITION_UNITS))
    by_window = min(load.changes, shards / delivery.window_seconds)
    return max(load.changes / delivery.batch_size, by_window)


def _stored(load: SourceLoad, registry: Registry) -> float:
    rows = load.rows * (load.row_bytes + ROW_OVERHEAD + KEYS_BYTES + ROW_OVERHEAD)  # and its owner
    entries = sum(
        member.rows * (_entry_bytes(index, load) + ROW_OVERHEAD)
        for index, member in _members(load, registry)
    )
    return load.items * (rows + entries)


def _members(load: SourceLoad, registry: Registry) -> Iterable[tuple[Index, IndexLoad]]:
    return [
        (index, load.indexes[index.name])
        for index in registry.indexes
        if index.name in load.indexes
    ]


def _entry_bytes(index: Index, load: SourceLoad) -> float:
    whole = index.projection == "ALL" or DATA in index.include
    return load.row_bytes if whole else KEYS_BYTES


def _size(size: float) -> int:
    return max(1, ceil(size / UNIT))
