"""Rows as columns: one per attribute, and one per attribute of a map, such as `data.name`."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from adminview.http_api.render import Order
from adminview.model.attribute import PK, SK
from adminview.model.row import DATA

Record: TypeAlias = Mapping[str, Any]  # plain JSON, by attribute

KEY = (PK.name, SK.name)
PREFIX = f"{DATA}."


def by_name(rows: Iterable[Collection[str]]) -> list[str]:
    return sorted({name for names in rows for name in names})


@dataclass(frozen=True, slots=True)
class Grid:
    """The columns of rows in order, and their values."""

    columns: Sequence[str]
    records: Sequence[Record]  # by column
    requested: bool = False  # whether somebody named the columns

    @classmethod
    def of(cls, records: Sequence[Record], order: Order = by_name) -> "Grid":
        """Return a column for each attribute of any record.

        The key comes first, then `data`, other maps, other attributes, and attributes that begin
        with an underscore. An attribute that is a map in some records has only its map's columns.
        """
        columns = [
            column
            for name in sorted({name for record in records for name in record}, key=_place(records))
            for column in _columns(name, records, order)
        ]
        return cls(columns, [_flat(record) for record in records])

    def without(self, hidden: Collection[str]) -> "Grid":
        """Return the grid without some columns."""
        return replace(self, columns=[name for name in self.columns if name not in hidden])

    def select(self, names: Sequence[str]) -> "Grid":
        """Return only the named columns, in this order. A map stands for all its columns."""
        chosen = [column for name in names for column in self._matching(name) or [name]]
        return replace(self, columns=[*dict.fromkeys(chosen)], requested=True)

    def unknown(self, names: Sequence[str]) -> list[str]:
        """Return the names that are no column of any row."""
        return [name for name in names if self.records and not self._matching(name)]

    @property
    def headers(self) -> list[str]:
        """The columns without `data.`, as far as this leaves them different."""
        plain = {*self.columns}
        return [
            short if (short := name.removeprefix(PREFIX)) not in plain else name
            for name in self.columns
        ]

    def values(self) -> Iterator[list[Any]]:
        """Yield the values of each row, None for one that it does not have."""
        for record in self.records:
            yield [record.get(name) for name in self.columns]

    def _matching(self, name: str) -> list[str]:
        """Return the columns that a name means: one of data, one in full, or all of a map."""
        for column in (PREFIX + name, name):
            if column in self.columns:
                return [column]
        return [column for column in self.columns if column.startswith(f"{name}.")]


def _place(records: Sequence[Record]) -> Callable[[str], tuple[Any, ...]]:
    maps = [name for record in records for name, value in record.items() if _is_map(value)]
    places = {name: place for place, name in enumerate(dict.fromkeys([*KEY, DATA, *maps]))}
    return lambda name: (places.get(name, len(places)), name.startswith("_"), name)


def _columns(name: str, records: Sequence[Record], order: Order) -> list[str]:
    values = [record.get(name) for record in records]
    maps = [value for value in values if isinstance(value, Mapping)]
    inner = [f"{name}.{attribute}" for attribute in order(maps)]
    whole = any(value is not None and not _is_map(value) for value in values)
    return inner + ([name] if whole or not maps else [])


def _flat(record: Record) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in record.items():
        flat |= {f"{name}.{n}": v for n, v in value.items()} if _is_map(value) else {name: value}
    return flat


def _is_map(value: Any) -> bool:
    return isinstance(value, Mapping)
