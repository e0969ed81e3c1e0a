"""Write units that a model change costs, per item and in total."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add

from adminview.cli.model_lock.model_diff import ModelDiff, Shape
from adminview.model import Index
from adminview.model.row import CHANGED_AT, DATA, SEQUENCE, Attributes, RowKey
from adminview.model.write_units import Units, entry_units, write_units
from adminview.reconcile.equality import equivalent_rows
from adminview.totals.units import contribution_units

MILLION = 1_000_000
Rows = Mapping[RowKey, Attributes]


@dataclass(frozen=True, slots=True)
class Indexes:
    """The indexes that a write reaches before, during and after a model change."""

    before: tuple[Index, ...]
    created: tuple[Index, ...]
    meanwhile: tuple[Index, ...]  # during backfills: declared ones and those to be dropped
    after: tuple[Index, ...]

    @classmethod
    def of(cls, change: ModelDiff) -> "Indexes":
        before = _indexes(change.old["indexes"] if change.old else [])
        after = _indexes(change.new["indexes"])
        created = {*change.indexes.new, *change.replaced_indexes}
        dropped = [index for index in before if index.name in change.indexes.dropped]
        new = tuple(index for index in after if index.name in created)
        return cls(before, new, (*after, *dropped), after)


@dataclass(frozen=True, slots=True)
class Costs:
    """Write units of items: once for the change, and for each later write before and after it."""

    rebuilding: Units = field(default_factory=Units)  # rows that differ, and rows that are swept
    filling: Units = field(default_factory=Units)  # new indexes, by DynamoDB
    change_before: Units = field(default_factory=Units)
    change_after: Units = field(default_factory=Units)
    insert_before: Units = field(default_factory=Units)
    insert_after: Units = field(default_factory=Units)
    rows: int = 0
    put: int = 0
    deleted: int = 0
    failed: int = 0  # items whose views raise

    def __add__(self, other: "Costs") -> "Costs":
        return Costs(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class SourceCosts:
    """The cost of a model change for one source, estimated from a sample of its items."""

    source: str
    items: int  # approximate, unless all items were sampled
    sampled: int
    costs: Costs

    @property
    def rebuilding(self) -> int:
        """Write units to backfill and sweep all rows, once."""
        return self._of_all(self.costs.rebuilding)

    @property
    def filling(self) -> int:
        """Write units to fill new indexes with the existing rows, once."""
        return self._of_all(self.costs.filling)

    def per_million(self, units: Units) -> int:
        """Estimate a million changes or inserts, if the whole sample costs *units*."""
        return round(units.total * MILLION / self.sampled) if self.sampled else 0

    def _of_all(self, units: Units) -> int:
        return round(units.total * self.items / self.sampled) if self.sampled else 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """The cost of a model change by source."""

    sources: list[SourceCosts]
    unknown: dict[str, str]  # by source: why there is no estimate

    @property
    def one_time(self) -> int:
        """Write units that are consumed once, over all sources."""
        return sum(source.rebuilding + source.filling for source in self.sources)


def item_costs(current: Rows, rows: Rows, indexes: Indexes, *, rebuilt: bool) -> Costs:
    """Count the write units of one item whose *current* rows become *rows*.

    Rows are put before indexes are dropped, and swept after that.
    """
    put = [
        key for key in rows if key not in current or not equivalent_rows(current[key], rows[key])
    ]
    swept = [key for key in current if key not in rows]
    if not rebuilt:
        put, swept = [], []
    puts = [_units(current.get(key), rows[key], indexes.meanwhile) for key in put]
    deletes = [_units(current[key], None, indexes.after) for key in swept]
    return Costs(
        rebuilding=_sum([*puts, *deletes]),
        filling=_sum(
            Units(0, {index.name: units})
            for index in indexes.created
            for row in current.values()
            if (units := entry_units(None, row, index))
        ),
        change_before=_sum(_of_change(row, indexes.before) for row in current.values()),
        change_after=_sum(_of_change(row, indexes.after) for row in rows.values()),
        insert_before=_sum(_units(None, row, indexes.before) for row in current.values()),
        insert_after=_sum(_units(None, row, indexes.after) for row in rows.values()),
        rows=len(rows),
        put=len(put),
        deleted=len(swept),
    )


def _units(before: Attributes | None, after: Attributes | None, indexes: Iterable[Index]) -> Units:
    """Count a write of a row, and the updates of totals that follow from it."""
    return write_units(before, after, indexes) + contribution_units(before, after)


def _of_change(row: Attributes, indexes: Iterable[Index]) -> Units:
    """Count a write that changes the data of a row and leaves its keys and contributions."""
    other = {**row, DATA: {"NULL": True}, SEQUENCE: {"S": "0"}, CHANGED_AT: {"N": "0"}}
    return write_units(other, row, indexes)


def _sum(units: Iterable[Units]) -> Units:
    return reduce(add, units, Units())


def _indexes(shapes: Iterable[Shape]) -> tuple[Index, ...]:
    return tuple(map(Index.from_shape, shapes))
