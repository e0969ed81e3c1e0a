"""DynamoDB JSON -> plain JSON, without losing a digit.

A number is a JSON number if it comes back digit for digit from the doubles that JavaScript reads
numbers into (2.99 does, 9007199254740993 does not), and text otherwise. Bytes are base64 text. Sets
are lists; they and maps are sorted, so that the same row always reads the same.
"""

import re
from collections.abc import Collection
from datetime import UTC, datetime
from decimal import Decimal
from json import dumps
from typing import Any, Final

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
from adminview.query.engine import AnsweredRow

SURROGATES: Final = re.compile("[\ud800-\udfff]")
WHOLE: Final = 2**53  # up to here a double is exact for every whole number


def plain(value: AttributeValue) -> Any:
    """Unfold a typed value."""
    ((kind, content),) = value.items()
    match kind:
        case "N":
            shown: Any = number(content)
        case "M":
            shown = {name: plain(content[name]) for name in sorted(content)}
        case "L":
            shown = [plain(one) for one in content]
        case "SS" | "BS":
            shown = sorted(content)
        case "NS":
            shown = [number(one) for one in sorted(content, key=Decimal)]
        case "NULL":
            shown = None
        case _:  # text, a truth, and bytes, which are base64 text already
            shown = content
    return shown


def number(digits: str) -> int | float | str:
    """Write a number as one if every reader gets all of its digits."""
    double = float(digits)
    if Decimal(repr(double)) != Decimal(digits):
        return digits
    return int(double) if double.is_integer() and abs(double) <= WHOLE else double


def text(value: Any) -> str:
    """Write JSON, as short as it gets; a lone surrogate, which UTF-8 cannot hold, as an escape."""
    written = dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return SURROGATES.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


class Renderer:
    """Rows as the API shows them: how indexes are sharded is nobody's business."""

    def __init__(self, registry: Registry) -> None:
        shards = {index.shard.name for index in registry.indexes if index.shard}
        self._hidden = RESERVED | shards

    def row(self, row: Attributes, origin: Collection[str] = ()) -> dict[str, Any]:
        """Show a row; *origin* are those attributes of its provenance that are asked for."""
        shown: dict[str, Any] = {
            "key": {PK.name: row[PK.name]["S"], SK.name: row[SK.name]["S"]},
            "data": plain(row[DATA]) if DATA in row else None,
            "index": {n: plain(value) for n, value in row.items() if n not in self._hidden},
        }
        if origin:
            shown["provenance"] = provenance(row)
        return shown

    def answered(self, one: AnsweredRow, shows: Collection[str]) -> dict[str, Any]:
        """Show a row of an answer, and the rows beside it."""
        shown = self.row(one.row, [name for name in shows if name in PROVENANCE])
        shown["joined"] = {
            name: None if row is None else self.row(row) for name, row in one.joined.items()
        }
        return shown


def provenance(row: Attributes) -> dict[str, Any]:
    """Say where a row comes from: its item, the change that wrote it, its time, and the model."""
    at = row.get(CHANGED_AT, {}).get("N")
    moment = None if at is None else datetime.fromtimestamp(float(at), tz=UTC)
    return {
        "owner": row.get(OWNER, {}).get("S"),
        "sequence": row.get(SEQUENCE, {}).get("S"),
        "time": None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "model": row.get(MODEL, {}).get("S"),
    }
