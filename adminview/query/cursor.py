"""Cursors: where a page ended, for the next one to begin there.

A cursor is opaque and belongs to its question: one that was cut, changed, or written for another
question, other parameters, another order or another index is refused. It holds keys alone, and no
secret: whoever may ask a question may begin its answer anywhere.
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
from adminview.model.errors import QuestionError
from adminview.model.item import AttributeValue, number_text
from adminview.model.limits import PARTITION_LIMIT, SORT_LIMIT
from adminview.model.row import Attributes

VERSION = 3
MARK = 12  # bytes of the checksum, and of the question's mark
LENGTH_LIMIT = 16_000  # characters
SIZE_LIMIT = 200_000  # bytes, unpacked
FOREIGN = (
    "belongs to another question, other parameters or another order, or the question has moved to "
    "another index since; ask from the beginning"
)

# By shard: the key of the last row that was shown; None before the first one.
Positions: TypeAlias = list[Attributes | None]


@dataclass(slots=True)
class Place:
    """Where an answer is: in each shard, and in all of them together."""

    positions: Positions
    last: Attributes | None = None  # the key of the last row that was shown


@dataclass(frozen=True, slots=True)
class Binding:
    """The question that a cursor belongs to, and what the keys in it must look like."""

    pattern: str
    question: Any  # plain data
    partition: Sequence[Mapping[str, AttributeValue]]  # what is fixed in each shard
    sort: Sequence[Attribute]
    tail: Sequence[Attribute]  # what else tells rows apart: the key of the table

    @property
    def mark(self) -> bytes:
        """Tell questions apart."""
        return sha256(dumps([VERSION, self.question], sort_keys=True).encode()).digest()[:MARK]

    @property
    def start(self) -> Place:
        """The beginning of an answer."""
        return Place([None] * len(self.partition))

    @property
    def open(self) -> list[Attribute]:
        """The attributes of a key that the question does not fix."""
        fixed = self.partition[0]
        return [one for one in dict.fromkeys((*self.sort, *self.tail)) if one.name not in fixed]


def write(binding: Binding, place: Place) -> str:
    """Write down where a page ended: of each key only what the question does not say."""
    positions = [
        one and [next(iter(one[key.name].values())) for key in binding.open]
        for one in place.positions
    ]
    last = place.last and [next(iter(place.last[key.name].values())) for key in binding.open]
    body = compress(dumps([positions, last], separators=(",", ":")).encode(), 9)
    whole = bytes([VERSION]) + binding.mark + body
    return urlsafe_b64encode(_checksum(whole) + whole).decode().rstrip("=")


def read(binding: Binding, cursor: str) -> Place:
    """Read where the page before ended, or say why this is no cursor of the question."""
    whole = _unpack(binding, cursor)
    if whole[:1] != bytes([VERSION]):
        raise refusal(binding, "is of another version; ask from the beginning")
    if whole[1 : MARK + 1] != binding.mark:
        raise refusal(binding, FOREIGN)
    try:
        positions, last = loads(decompressobj().decompress(whole[MARK + 1 :], SIZE_LIMIT))
        return Place(
            [
                _position(binding.open, values, fixed)
                for values, fixed in zip(positions, binding.partition, strict=True)
            ],
            _position(binding.open, last, binding.partition[0]),
        )
    except Exception as error:  # whatever a forged cursor can raise
        raise refusal(binding, "does not fit the question") from error


def refusal(binding: Binding, why: str) -> QuestionError:
    """Say why a cursor is none of this question."""
    msg = f"access pattern {binding.pattern!r}: the cursor {why}"
    return QuestionError(msg)


def _unpack(binding: Binding, cursor: object) -> bytes:
    if not isinstance(cursor, str) or len(cursor) > LENGTH_LIMIT:
        raise refusal(binding, "is no text, or too long to be one")
    try:
        packed = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
    except ValueError as error:
        raise refusal(binding, "cannot be read") from error
    checksum, whole = packed[:MARK], packed[MARK:]
    if checksum != _checksum(whole):
        raise refusal(binding, "was cut or changed")
    return whole


def _position(
    attributes: Sequence[Attribute], values: Any, fixed: Mapping[str, AttributeValue]
) -> Attributes | None:
    """Read one position: null before the first row, and otherwise a list of key values."""
    if values is None:
        return None
    if not isinstance(values, list):
        raise TypeError
    return {**fixed, **_key(attributes, values)}


def _key(attributes: Sequence[Attribute], values: Sequence[Any]) -> Attributes:
    """Give values their names and types back, if they can be values of a key."""
    key = {}
    for attribute, given in zip(attributes, values, strict=True):
        if not isinstance(given, str):
            raise TypeError
        value = given
        match attribute.type:
            case "N":
                value = number_text(Decimal(value))  # raises if DynamoDB has no such number
                size = len(value)
            case "B":
                size = len(b64decode(value, validate=True))
            case _:
                size = len(value.encode())
        if not 0 < size <= (PARTITION_LIMIT if attribute == PK else SORT_LIMIT):
            raise ValueError
        key[attribute.name] = {attribute.type: value}
    return key


def _checksum(whole: bytes) -> bytes:
    return sha256(b"adminview cursor" + whole).digest()[:MARK]
