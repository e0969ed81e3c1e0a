"""What a change of the model costs, in write units: counted for one item, and summed up."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add

from adminview.cli.model_lock.model_diff import ModelDiff, Shape
from adminview.model import Index
from adminview.model.row import CHANGED_AT, DATA, SEQUENCE, Attributes, RowKey
from adminview.model.write_units import Units, entry_units, write_units
from adminview.reconcile.equality import equivalent_rows

MILLION = 1_000_000
Rows = Mapping[RowKey, Attributes]


@dataclass(frozen=True, slots=True)
class Indexes:
    """The indexes that a write reaches, on the way from one model to another."""

    before: tuple[Index, ...]
    created: tuple[Index, ...]
    meanwhile: tuple[Index, ...]  # while rows are rebuilt: the new ones and those to be dropped
    after: tuple[Index, ...]

    @classmethod
    def of(cls, change: ModelDiff) -> "Indexes":
        """Work out which indexes there are when."""
        before = _indexes(change.old["indexes"] if change.old else [])
        after = _indexes(change.new["indexes"])
        created = {*change.new_indexes, *change.changed_indexes}
        dropped = [index for index in before if index.name in change.dropped_indexes]
        made = tuple(index for index in after if index.name in created)
        return cls(before, made, (*after, *dropped), after)


@dataclass(frozen=True, slots=True)
class Costs:
    """What some items cost: once, and each time that they are written."""

    rebuilding: Units = field(default_factory=Units)  # rows that differ, and rows swept away
    filling: Units = field(default_factory=Units)  # of new indexes, by DynamoDB itself
    change_before: Units = field(default_factory=Units)
    change_after: Units = field(default_factory=Units)
    insert_before: Units = field(default_factory=Units)
    insert_after: Units = field(default_factory=Units)
    rows: int = 0
    put: int = 0
    deleted: int = 0
    failed: int = 0  # items that the views cannot derive rows from

    def __add__(self, other: "Costs") -> "Costs":
        """Add the costs of several items up."""
        return Costs(*(getattr(self, one) + getattr(other, one) for one in self.__slots__))


@dataclass(frozen=True, slots=True)
class SourceCosts:
    """What a change costs for one source: reckoned from a sample of its items."""

    source: str
    items: int  # about, unless the sample is all of them
    sampled: int
    costs: Costs

    @property
    def rebuilding(self) -> int:
        """Write units of rebuilding the rows of all items, once."""
        return self._of_all(self.costs.rebuilding)

    @property
    def filling(self) -> int:
        """Write units that new indexes take to hold the rows that are there, once."""
        return self._of_all(self.costs.filling)

    def per_million(self, units: Units) -> int:
        """Reckon what a million of the changes or inserts cost that *units* are of."""
        return round(units.total * MILLION / self.sampled) if self.sampled else 0

    def _of_all(self, units: Units) -> int:
        return round(units.total * self.items / self.sampled) if self.sampled else 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a change costs, by source; and why it is not known of some."""

    sources: list[SourceCosts]
    unknown: dict[str, str]

    @property
    def one_time(self) -> int:
        """All write units that are taken once."""
        return sum(one.rebuilding + one.filling for one in self.sources)


def item_costs(found: Rows, rows: Rows, indexes: Indexes, *, rebuilt: bool) -> Costs:
    """Count what one item costs whose rows are *found* so, and are to be *rows*.

    Rows are put while the indexes to be dropped are still there; the sweep comes after that.
    """
    put = [key for key in rows if key not in found or not equivalent_rows(found[key], rows[key])]
    swept = [key for key in found if key not in rows]
    if not rebuilt:
        put, swept = [], []
    puts = [write_units(found.get(key), rows[key], indexes.meanwhile) for key in put]
    deletes = [write_units(found[key], None, indexes.after) for key in swept]
    return Costs(
        rebuilding=_sum([*puts, *deletes]),
        filling=_sum(
            Units(0, {index.name: units})
            for index in indexes.created
            for row in found.values()
            if (units := entry_units(None, row, index))
        ),
        change_before=_sum(_of_change(row, indexes.before) for row in found.values()),
        change_after=_sum(_of_change(row, indexes.after) for row in rows.values()),
        insert_before=_sum(write_units(None, row, indexes.before) for row in found.values()),
        insert_after=_sum(write_units(None, row, indexes.after) for row in rows.values()),
        rows=len(rows),
        put=len(put),
        deleted=len(swept),
    )


def _of_change(row: Attributes, indexes: Iterable[Index]) -> Units:
    """Count a write that changes what a row shows, and leaves its keys."""
    other = {**row, DATA: {"NULL": True}, SEQUENCE: {"S": "0"}, CHANGED_AT: {"N": "0"}}
    return write_units(other, row, indexes)


def _sum(units: Iterable[Units]) -> Units:
    return reduce(add, units, Units())


def _indexes(shapes: Iterable[Shape]) -> tuple[Index, ...]:
    return tuple(map(Index.from_shape, shapes))
