"""What a load takes: of the function, of the table, and of each index."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final

from adminview.cli.costing.baseline import OURS, Baseline
from adminview.cli.costing.load import IndexLoad, SourceLoad
from adminview.cli.costing.prices import Prices
from adminview.cli.costing.usage import TABLE, Bill, Usage
from adminview.model import Index, Registry
from adminview.model.delivery import Delivery
from adminview.model.row import DATA, OWNER_INDEX
from adminview.model.write_units import UNIT

MEMORY_MB: Final = 512  # of the sync function; a test holds it to infra's
CORE_MB: Final = 1769  # of memory come with one whole core, set by Lambda
PARTITION_UNITS: Final = 1000  # write units a second that one partition takes, set by DynamoDB
KEYS_BYTES: Final = 256  # of an entry that holds keys alone, about
ROW_OVERHEAD: Final = 100  # bytes that DynamoDB stores with each row and entry
LOG_BYTES: Final = 2048  # of an invocation: a line, and its metrics


@dataclass(frozen=True, slots=True)
class Work:
    """What one source takes, each second."""

    load: SourceLoad
    rows: float  # written
    busy: float  # functions that are at work at once
    usage: Usage

    @classmethod
    def of(cls, load: SourceLoad, registry: Registry, way: Baseline = OURS) -> "Work":
        """Count it."""
        rows = (load.shown if way.skips else load.changes) * load.rows
        busy = functions_at_work(load.changes, rows, way)
        invocations = _invocations(load)
        table = load.items * load.rows * (load.row_bytes + ROW_OVERHEAD)
        usage = Usage(
            _units(load, registry, way),
            busy * MEMORY_MB / 1024,
            invocations,
            invocations * LOG_BYTES,
            table + load.items * _entries_bytes(load, registry, way),
            table,
            way.metrics,
        )
        return cls(load, rows, busy, usage)

    @property
    def units(self) -> Mapping[str, float]:
        """Write units, of the table (by the name TABLE) and of each index."""
        return self.usage.units

    @property
    def stream_shards(self) -> int:
        """Shards of the source's stream: at least one per partition, as its writes need them."""
        return _shards(self.load)

    @property
    def parallelization(self) -> int:
        """Batches of one shard at a time that keep up with it."""
        return max(1, ceil(self.busy / self.stream_shards))

    def bill(self, prices: Prices) -> Bill:
        """Price a month, line by line."""
        return self.usage.bill(prices)


def functions_at_work(
    records: float, rows: float, way: Baseline, memory_mb: int = MEMORY_MB
) -> float:
    """Say how many functions of some memory are busy with so many records and rows a second."""
    figures = way.figures
    processor = records * figures.per_record + rows * figures.per_row
    waiting = rows / way.rows_per_call * figures.per_call / way.calls_at_once
    return processor * CORE_MB / memory_mb + waiting


def index_shards(units: float) -> int:
    """Say how many write shards an index needs if one of its partitions gets all that is written.

    A row that moves goes from one partition to another, so each gets about half of it; that is kept
    in hand, for the hottest is never an average one.
    """
    return max(1, ceil(units / PARTITION_UNITS))


def _units(load: SourceLoad, registry: Registry, way: Baseline) -> dict[str, float]:
    """Count write units.

    A row that is put again as it is takes units of the table, and none of an index. An index of
    keys alone, as the owner's is, takes some only when rows come, go or move.
    """
    written = load.shown if way.skips else load.changes
    differing = load.shown if way.skips else load.changes * (1 - load.unchanged)
    units = {TABLE: written * load.rows * _size(load.row_bytes)}
    for index, member in _members(load, registry):
        entry = _size(_entry_bytes(index, load))
        put = differing if _holds_data(index) else min(load.changes * load.appearing, differing)
        # A move is a put more; where an entry that stays costs nothing, it is two.
        moved = member.moves * (differing + (differing - put))
        units[index.name] = member.rows * entry * (put + moved)
    if way.owner_index:
        units[OWNER_INDEX.name] = min(load.changes * load.appearing, load.shown) * load.rows
    return units


def _invocations(load: SourceLoad) -> float:
    """Count batches: each is full, or a window old."""
    delivery = Delivery()
    by_window = min(load.changes, _shards(load) / delivery.window_seconds)
    return max(load.changes / delivery.batch_size, by_window)


def _shards(load: SourceLoad) -> int:
    return max(1, ceil(load.changes * _size(load.item_bytes) / PARTITION_UNITS))


def _entries_bytes(load: SourceLoad, registry: Registry, way: Baseline) -> float:
    """Say what all indexes hold of one item."""
    owner = load.rows * (KEYS_BYTES + ROW_OVERHEAD) if way.owner_index else 0.0
    return owner + sum(
        member.rows * (_entry_bytes(index, load) + ROW_OVERHEAD)
        for index, member in _members(load, registry)
    )


def _members(load: SourceLoad, registry: Registry) -> Iterable[tuple[Index, IndexLoad]]:
    return [
        (index, load.indexes[index.name])
        for index in registry.indexes
        if index.name in load.indexes
    ]


def _entry_bytes(index: Index, load: SourceLoad) -> float:
    return load.row_bytes if _holds_data(index) else KEYS_BYTES


def _holds_data(index: Index) -> bool:
    """Tell whether an entry changes with what its row shows, and not with its keys alone."""
    return index.projection == "ALL" or DATA in index.include


def _size(size: float) -> int:
    return max(1, ceil(size / UNIT))
