"""Rows as plain Python: Decimal, str, bytes, dict, list."""

from collections.abc import Collection
from typing import Any, TypeAlias

from adminview.model import Registry
from adminview.model.attribute import PK, SK
from adminview.model.item import to_python
from adminview.model.row import DATA, PROVENANCE, TOTALS, Attributes
from adminview.query.engine import ResultRow

PlainRow: TypeAlias = dict[str, Any]  # by attribute

JOINED = "joined"


class RowDecoder:
    """Decodes rows: their key, index keys and `data`, without provenance and shard numbers."""

    def __init__(self, registry: Registry) -> None:
        shards = {index.shard.name for index in registry.indexes if index.shard}
        self._hidden = {TOTALS, *PROVENANCE, *shards}

    def row(self, row: Attributes, shows: Collection[str] = ()) -> PlainRow:
        """Decode a row, with the provenance that *shows* names."""
        shown = [name for name in row if name not in self._hidden or name in shows]
        return {name: to_python(row[name]) for name in sorted(shown, key=_place)}

    def result(self, result: ResultRow, shows: Collection[str] = ()) -> PlainRow:
        """Decode a row of a result; its joined rows, if any, are under `joined`."""
        joined = {name: row and self.row(row) for name, row in result.joined.items()}
        return self.row(result.row, shows) | ({JOINED: joined} if joined else {})


def _place(name: str) -> tuple[bool, bool, bool, str]:
    """Sort attributes: the key, index keys, `data`."""
    return name != PK.name, name != SK.name, name == DATA, name
