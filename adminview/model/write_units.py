"""What DynamoDB takes for a write, in write units: of the table, and of each index it reaches.

As its documentation counts: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/
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
    """Write units, by whom they are taken."""

    table: int = 0
    indexes: Mapping[str, int] = field(default_factory=dict)  # those that take any

    @property
    def total(self) -> int:
        """All of them: whoever pays for the table pays for its indexes too."""
        return self.table + sum(self.indexes.values())

    def __add__(self, other: "Units") -> "Units":
        """Add two writes up."""
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
    """Say what it takes to turn one row into another; None where there is none.

    Both are compared as they are spelled, so *before* should be spelled as *after* is. An item of
    another table than the view has another *key*.
    """
    changed = {index.name: entry_units(before, after, index, key) for index in indexes}
    return Units(
        max(_units(before), _units(after), 1),  # to delete what is not there takes one, too
        {name: units for name, units in changed.items() if units},
    )


def entry_units(
    before: Attributes | None, after: Attributes | None, index: Index, key: Iterable[str] = KEY
) -> int:
    """Say what one index takes for a write."""
    old, new = entry(index, before, key), entry(index, after, key)
    if old == new:
        return 0
    if old and new and all(old[one.name] == new[one.name] for one in index.stored_key):
        return max(_units(old), _units(new))
    return _units(old) + _units(new)  # an entry whose key changes is deleted, and another is put


def entry(index: Index, row: Attributes | None, key: Iterable[str] = KEY) -> Attributes | None:
    """Take from a row what an index holds of it; None if it has no place there."""
    if row is None or any(one.name not in row for one in index.stored_key):
        return None
    if index.projection == "ALL":
        return row
    held = {*key, *index.include, *(one.name for one in index.stored_key)}
    return {name: value for name, value in row.items() if name in held}


def _units(row: Attributes | None) -> int:
    return -(-row_size(row) // UNIT) if row else 0
