"""Estimate what a workload uses: Lambda, the table and each index."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final

from adminview.cli.costing.baseline import ADMINVIEW, TOTALS_METHOD, SyncMethod
from adminview.cli.costing.load import IndexLoad, SourceLoad
from adminview.cli.costing.prices import Prices
from adminview.cli.costing.usage import TABLE, Bill, Usage
from adminview.model import Index, Registry, Total
from adminview.model.delivery import TOTALS_DELIVERY, Delivery
from adminview.model.row import DATA, OWNER_INDEX
from adminview.model.total import RANK
from adminview.model.write_units import UNIT
from adminview.totals.units import TOTALS_TABLE, positions_kept, update_units

MEMORY_MB: Final = 512  # of the sync function; a test compares it with infra
CORE_MB: Final = 1769  # of memory come with one full core, set by Lambda
PARTITION_UNITS: Final = 1000  # write units per second of one partition, set by DynamoDB
KEYS_BYTES: Final = 256  # of a keys-only entry, approximately
ROW_OVERHEAD: Final = 100  # bytes that DynamoDB stores with each row and entry
LOG_BYTES: Final = 2048  # per invocation: a log line and metrics


@dataclass(frozen=True, slots=True)
class Work:
    """What one source uses per second."""

    load: SourceLoad
    rows: float  # written
    busy: float  # concurrent functions
    usage: Usage

    @classmethod
    def of(cls, load: SourceLoad, registry: Registry, method: SyncMethod = ADMINVIEW) -> "Work":
        rows = (load.written if method.skips else load.changes) * load.rows
        busy = busy_functions(load.changes, rows, method)
        invocations = _invocations(load)
        units = _units(load, registry, method)
        if method.totals and load.totals:
            counted = TotalsWork.of(load, registry, rows, units[TABLE])
            units[TOTALS_TABLE] = counted.units
            busy += counted.busy
            invocations += counted.invocations
        table = load.items * load.rows * (load.row_bytes + ROW_OVERHEAD)
        usage = Usage(
            units,
            busy * MEMORY_MB / 1024,
            invocations,
            invocations * LOG_BYTES,
            table + load.items * _entries_bytes(load, registry, method),
            table,
            method.metrics,
        )
        return cls(load, rows, busy, usage)

    @property
    def units(self) -> Mapping[str, float]:
        """Write units of the table (TABLE) and of each index."""
        return self.usage.units

    @property
    def stream_shards(self) -> int:
        """The fewest shards of the source's stream: one per partition that its writes need."""
        return _shards(self.load)

    @property
    def parallelization(self) -> int:
        """The concurrent batches per shard that keep up with it."""
        return max(1, ceil(self.busy / self.stream_shards))

    def bill(self, prices: Prices) -> Bill:
        return self.usage.bill(prices)


@dataclass(frozen=True, slots=True)
class TotalsWork:
    """What the totals of one source's rows use per second."""

    units: float
    busy: float  # concurrent functions, as large as the sync function
    invocations: float

    @classmethod
    def of(
        cls, load: SourceLoad, registry: Registry, rows: float, row_units: float
    ) -> "TotalsWork":
        """Size the totals function, which gets every row that is written."""
        shards = max(1, ceil(row_units / PARTITION_UNITS))
        delivery = TOTALS_DELIVERY
        by_window = min(rows, shards / delivery.window_seconds)
        batches = max(rows / delivery.batch_size, by_window)
        updates = units = 0.0
        for total in registry.totals:
            if member := load.totals.get(total.name):
                # A batch updates each of its groups once.
                calls = min(load.written * member.updates, batches * member.groups)
                updates += calls
                units += calls * _update_units(total, positions_kept(shards))
        return cls(units, busy_functions(rows, updates, TOTALS_METHOD), batches)


def _update_units(total: Total, positions: int) -> int:
    """Return the units of one update of a total with so many positions."""
    ranked = {RANK: None} if total.ranked_by else {}
    names = {**{sum_.name: None for sum_ in total.sums}, **ranked}
    return update_units((total.name * 2, total.name), names, positions).total


def busy_functions(
    records: float, rows: float, method: SyncMethod, memory_mb: int = MEMORY_MB
) -> float:
    """Estimate how many functions are busy with so many records and rows per second."""
    figures = method.figures
    processor = records * figures.per_record + rows * figures.per_row
    waiting = rows / method.rows_per_call * figures.per_call / method.calls_at_once
    return processor * CORE_MB / memory_mb + waiting


def _units(load: SourceLoad, registry: Registry, method: SyncMethod) -> dict[str, float]:
    """Return the write units per second of the table and each index.

    Putting an unchanged row costs units of the table and none of an index. A keys-only index costs
    units only when rows are added, deleted or moved.
    """
    written = load.written if method.skips else load.changes
    differing = load.written if method.skips else load.changes * (1 - load.unchanged)
    units = {TABLE: written * load.rows * _size(load.row_bytes)}
    for index, member in _members(load, registry):
        entry = _size(_entry_bytes(index, load))
        put = differing if _holds_data(index) else min(load.changes * load.appearing, differing)
        # A move costs one write more than a put, or two where a put costs nothing.
        moved = member.moves * (differing + (differing - put))
        units[index.name] = member.rows * entry * (put + moved)
    if method.owner_index:
        units[OWNER_INDEX.name] = min(load.changes * load.appearing, load.written) * load.rows
    return units


def _invocations(load: SourceLoad) -> float:
    """Return the batches per second: each is full, or its window has ended."""
    delivery = Delivery()
    by_window = min(load.changes, _shards(load) / delivery.window_seconds)
    return max(load.changes / delivery.batch_size, by_window)


def _shards(load: SourceLoad) -> int:
    return max(1, ceil(load.changes * _size(load.item_bytes) / PARTITION_UNITS))


def _entries_bytes(load: SourceLoad, registry: Registry, method: SyncMethod) -> float:
    """Return the bytes of one item in all indexes."""
    owner = load.rows * (KEYS_BYTES + ROW_OVERHEAD) if method.owner_index else 0.0
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
    """Return whether an entry changes when the data of its row changes."""
    return index.projection == "ALL" or DATA in index.include


def _size(size: float) -> int:
    return max(1, ceil(size / UNIT))
