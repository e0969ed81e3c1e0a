"""Render DynamoDB JSON as plain JSON, without losing digits.

A number is a JSON number if a double keeps all its digits (2.99 does, 9007199254740993 does not),
otherwise text. Bytes are base64 text. Sets are lists; they and maps are sorted, so that equal rows
render the same. Only the attributes of `data` may have another order.
"""

import re
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from json import dumps
from typing import Any, Final, TypeAlias

from adminview.model import Registry
from adminview.model.attribute import PK, SK
from adminview.model.item import AttributeValue
from adminview.model.row import (
    CHANGED_AT,
    DATA,
    MODEL,
    OWNER,
    PROVENANCE,
    RESERVED,
    SEQUENCE,
    Attributes,
)
from adminview.query.engine import ResultRow

# Sorts the attributes of rows, given those of each.
Order: TypeAlias = Callable[[Iterable[Collection[str]]], list[str]]

SHAPES: Final = 500  # of data, whose order is remembered
SURROGATES: Final = re.compile("[\ud800-\udfff]")
MAX_SAFE_INTEGER: Final = 2**53  # up to here every whole number is exact as a double


def plain(value: AttributeValue) -> Any:
    """Convert a typed value to JSON data."""
    ((kind, content),) = value.items()
    match kind:
        case "N":
            rendered: Any = number(content)
        case "M":
            rendered = {name: plain(content[name]) for name in sorted(content)}
        case "L":
            rendered = [plain(element) for element in content]
        case "SS" | "BS":
            rendered = sorted(content)
        case "NS":
            rendered = [number(digits) for digits in sorted(content, key=Decimal)]
        case "NULL":
            rendered = None
        case _:  # text, booleans, and bytes, which are base64 text already
            rendered = content
    return rendered


def number(digits: str) -> int | float | str:
    """Return a number if a double keeps all its digits, otherwise its text."""
    double = float(digits)
    if Decimal(repr(double)) != Decimal(digits):
        return digits
    return int(double) if double.is_integer() and abs(double) <= MAX_SAFE_INTEGER else double


def text(value: Any) -> str:
    """Write compact JSON; escape lone surrogates, which UTF-8 cannot encode."""
    written = dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return SURROGATES.sub(lambda match: f"\\u{ord(match[0]):04x}", written)


class Renderer:
    """Renders rows for the API, without shard attributes."""

    def __init__(self, registry: Registry, order: Order | None = None) -> None:
        """Sort the attributes of `data` with *order*; without it, by name."""
        shards = {index.shard.name for index in registry.indexes if index.shard}
        self._hidden = RESERVED | shards
        self._ordered = order and lru_cache(SHAPES)(lambda names: order([names]))

    def row(self, row: Attributes, origin: Collection[str] = ()) -> dict[str, Any]:
        """Render a row, with its provenance if *origin* is not empty."""
        rendered: dict[str, Any] = {
            "key": {PK.name: row[PK.name]["S"], SK.name: row[SK.name]["S"]},
            "data": self._data(plain(row[DATA])) if DATA in row else None,
            "index": {n: plain(value) for n, value in row.items() if n not in self._hidden},
        }
        if origin:
            rendered["provenance"] = provenance(row)
        return rendered

    def _data(self, data: Any) -> Any:
        if self._ordered is None or not isinstance(data, dict):
            return data
        return {name: data[name] for name in self._ordered(tuple(data))}

    def answered(self, result: ResultRow, shows: Collection[str]) -> dict[str, Any]:
        """Render a row of a result with its joined rows."""
        rendered = self.row(result.row, [name for name in shows if name in PROVENANCE])
        rendered["joined"] = {
            name: None if row is None else self.row(row) for name, row in result.joined.items()
        }
        return rendered


def provenance(row: Attributes) -> dict[str, Any]:
    """Return the owner of a row, and the sequence number, time and model of its last write."""
    at = row.get(CHANGED_AT, {}).get("N")
    moment = None if at is None else datetime.fromtimestamp(float(at), tz=UTC)
    return {
        "owner": row.get(OWNER, {}).get("S"),
        "sequence": row.get(SEQUENCE, {}).get("S"),
        "time": None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "model": row.get(MODEL, {}).get("S"),
    }
