"""Write units that a write consumes in the table and in each index.

Counted as in the documentation: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/
under "Write capacity unit consumption", and under "Write capacity units" of either kind of index.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from adminview.model.attribute import PK, SK
from adminview.model.index import Index
from adminview.model.limits import row_size
from adminview.model.row import Attributes

UNIT = 1024  # bytes
KEY = (PK.name, SK.name)


@dataclass(frozen=True, slots=True)
class Units:
    """Write units of the table and of its indexes."""

    table: int = 0
    indexes: Mapping[str, int] = field(default_factory=dict)  # only indexes that consume any

    @property
    def total(self) -> int:
        return self.table + sum(self.indexes.values())

    def __add__(self, other: "Units") -> "Units":
        names = [*self.indexes, *(name for name in other.indexes if name not in self.indexes)]
        return Units(
            self.table + other.table,
            {name: self.indexes.get(name, 0) + other.indexes.get(name, 0) for name in names},
        )


def write_units(
    before: Attributes | None,
    after: Attributes | None,
    indexes: Iterable[Index],
    key: Iterable[str] = KEY,
) -> Units:
    """Return the units of the write that turns *before* into *after*; None is no row.

    Compares DynamoDB JSON, so both rows must write equal numbers alike. *key* names the table's key
    attributes, if it is not the view table.
    """
    changed = {index.name: entry_units(before, after, index, key) for index in indexes}
    return Units(
        max(_units(before), _units(after), 1),  # deleting an absent row consumes one
        {name: units for name, units in changed.items() if units},
    )


def entry_units(
    before: Attributes | None, after: Attributes | None, index: Index, key: Iterable[str] = KEY
) -> int:
    """Return the units that a write consumes in one index."""
    old, new = entry(index, before, key), entry(index, after, key)
    if old == new:
        return 0
    if (
        old
        and new
        and all(old[attribute.name] == new[attribute.name] for attribute in index.stored_key)
    ):
        return max(_units(old), _units(new))
    return _units(old) + _units(new)  # a changed key deletes one entry and puts another


def entry(index: Index, row: Attributes | None, key: Iterable[str] = KEY) -> Attributes | None:
    """Return a row's entry in an index; None if it has none."""
    if row is None or any(attribute.name not in row for attribute in index.stored_key):
        return None
    if index.projection == "ALL":
        return row
    held = {*key, *index.include, *(attribute.name for attribute in index.stored_key)}
    return {name: value for name, value in row.items() if name in held}


def _units(row: Attributes | None) -> int:
    return -(-row_size(row) // UNIT) if row else 0
