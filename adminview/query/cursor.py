"""Cursors: the position where a page ended and the next one begins.

A cursor is opaque and bound to its query: one that was truncated, changed, or written for another
access pattern, other parameters, another order or another index is rejected. It holds only keys and
no secret: whoever may run a query may start it anywhere.
"""

from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from json import dumps, loads
from typing import Any, TypeAlias
from zlib import compress, decompressobj

from adminview.model.attribute import PK, Attribute
from adminview.model.errors import QueryError
from adminview.model.item import AttributeValue, number_text
from adminview.model.limits import PARTITION_LIMIT, SORT_LIMIT
from adminview.model.row import Attributes

VERSION = 3
MARK = 12  # bytes of the checksum and of the query's digest
LENGTH_LIMIT = 16_000  # characters
SIZE_LIMIT = 200_000  # bytes, unpacked
FOREIGN = (
    "belongs to another access pattern, other parameters or another order, or the access pattern "
    "has moved to another index; start again without a cursor"
)

# By shard: the key of the last returned row; None before the first.
Positions: TypeAlias = list[Attributes | None]


@dataclass(slots=True)
class Place:
    """The position of a query: in each shard, and over all shards."""

    positions: Positions
    last: Attributes | None = None  # the key of the last returned row


@dataclass(frozen=True, slots=True)
class Binding:
    """The query that a cursor is bound to, and the shape of its keys."""

    pattern: str
    query: Any  # JSON data
    partition: Sequence[Mapping[str, AttributeValue]]  # the fixed values of each shard
    sort: Sequence[Attribute]
    tail: Sequence[Attribute]  # the rest of a row's key: the key of the table

    @property
    def digest(self) -> bytes:
        return sha256(dumps([VERSION, self.query], sort_keys=True).encode()).digest()[:MARK]

    @property
    def start(self) -> Place:
        return Place([None] * len(self.partition))

    @property
    def open(self) -> list[Attribute]:
        """The attributes of a key that the query does not fix."""
        fixed = self.partition[0]
        return [key for key in dict.fromkeys((*self.sort, *self.tail)) if key.name not in fixed]


def write(binding: Binding, place: Place) -> str:
    """Encode the position where a page ended, without the values that the query fixes."""
    positions = [
        position and [next(iter(position[key.name].values())) for key in binding.open]
        for position in place.positions
    ]
    last = place.last and [next(iter(place.last[key.name].values())) for key in binding.open]
    body = compress(dumps([positions, last], separators=(",", ":")).encode(), 9)
    content = bytes([VERSION]) + binding.digest + body
    return urlsafe_b64encode(_checksum(content) + content).decode().rstrip("=")


def read(binding: Binding, cursor: str) -> Place:
    """Decode a cursor; raise a QueryError if it does not belong to the query."""
    content = _unpack(binding, cursor)
    if content[:1] != bytes([VERSION]):
        raise refusal(binding, "is of another version; start again without a cursor")
    if content[1 : MARK + 1] != binding.digest:
        raise refusal(binding, FOREIGN)
    try:
        positions, last = loads(decompressobj().decompress(content[MARK + 1 :], SIZE_LIMIT))
        return Place(
            [
                _position(binding.open, values, fixed)
                for values, fixed in zip(positions, binding.partition, strict=True)
            ],
            _position(binding.open, last, binding.partition[0]),
        )
    except Exception as error:  # anything that a forged cursor can raise
        raise refusal(binding, "does not fit the query") from error


def refusal(binding: Binding, why: str) -> QueryError:
    msg = f"access pattern {binding.pattern!r}: the cursor {why}"
    return QueryError(msg)


def _unpack(binding: Binding, cursor: object) -> bytes:
    if not isinstance(cursor, str) or len(cursor) > LENGTH_LIMIT:
        raise refusal(binding, "is not text, or too long")
    try:
        packed = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
    except ValueError as error:
        raise refusal(binding, "cannot be read") from error
    checksum, content = packed[:MARK], packed[MARK:]
    if checksum != _checksum(content):
        raise refusal(binding, "was truncated or changed")
    return content


def _position(
    attributes: Sequence[Attribute], values: Any, fixed: Mapping[str, AttributeValue]
) -> Attributes | None:
    """Decode one position: null before the first row, otherwise a list of key values."""
    if values is None:
        return None
    if not isinstance(values, list):
        raise TypeError
    return {**fixed, **_key(attributes, values)}


def _key(attributes: Sequence[Attribute], values: Sequence[Any]) -> Attributes:
    """Name and type key values; raise if DynamoDB would not accept them."""
    key = {}
    for attribute, text in zip(attributes, values, strict=True):
        if not isinstance(text, str):
            raise TypeError
        value = text
        match attribute.type:
            case "N":
                value = number_text(Decimal(value))  # raises if DynamoDB cannot store the number
                size = len(value)
            case "B":
                size = len(b64decode(value, validate=True))
            case _:
                size = len(value.encode())
        if not 0 < size <= (PARTITION_LIMIT if attribute == PK else SORT_LIMIT):
            raise ValueError
        key[attribute.name] = {attribute.type: value}
    return key


def _checksum(content: bytes) -> bytes:
    return sha256(b"adminview cursor" + content).digest()[:MARK]
