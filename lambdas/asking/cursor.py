"""Cursors: where a page ended, for the next one to begin there.

A cursor is opaque and belongs to its question: one that was cut, changed, or written for another
question, other parameters or another order is refused. It holds keys alone, and no secret: whoever
may ask a question may begin its answer anywhere.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from json import dumps, loads
from typing import Any, TypeAlias
from zlib import compress, decompressobj

from lambdas.model.attribute import Attribute
from lambdas.model.errors import QuestionError
from lambdas.model.row import Attributes

VERSION = 1
MARK = 12  # bytes of the checksum, and of the question's mark
LENGTH_LIMIT = 16_000  # characters
SIZE_LIMIT = 200_000  # bytes, unpacked

# By shard: the key of the last row that was shown; None before the first one.
Positions: TypeAlias = list[Attributes | None]


@dataclass(frozen=True, slots=True)
class Binding:
    """The question that a cursor belongs to, and what the keys in it must look like."""

    pattern: str
    question: Any  # plain data
    keys: Sequence[Attribute]
    fixed: Mapping[str, Any]  # values of key attributes that the question fixes
    shards: int

    @property
    def mark(self) -> bytes:
        """Tell questions apart."""
        return sha256(dumps([VERSION, self.question], sort_keys=True).encode()).digest()[:MARK]


def write(binding: Binding, positions: Positions) -> str:
    """Write down where a page ended."""
    body = compress(dumps(positions, separators=(",", ":")).encode(), 9)
    whole = bytes([VERSION]) + binding.mark + body
    return urlsafe_b64encode(_checksum(whole) + whole).decode().rstrip("=")


def read(binding: Binding, cursor: str) -> Positions:
    """Read where the page before ended, or say why this is no cursor of the question."""
    whole = _unpack(binding, cursor)
    if whole[:1] != bytes([VERSION]):
        raise _refusal(binding, "is of another version; ask from the beginning")
    if whole[1 : MARK + 1] != binding.mark:
        raise _refusal(binding, "belongs to another question, other parameters or another order")
    try:
        reader = decompressobj()
        positions = loads(reader.decompress(whole[MARK + 1 :], SIZE_LIMIT))
        sound = len(positions) == binding.shards and all(
            one is None or _fits(binding, one) for one in positions
        )
    except Exception as error:  # whatever a forged cursor can raise
        raise _refusal(binding, "cannot be read") from error
    if not sound:
        raise _refusal(binding, "does not fit the question")
    return list(positions)


def _unpack(binding: Binding, cursor: str) -> bytes:
    if len(cursor) > LENGTH_LIMIT:
        raise _refusal(binding, "is too long to be one")
    try:
        packed = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
    except ValueError as error:
        raise _refusal(binding, "cannot be read") from error
    checksum, whole = packed[:MARK], packed[MARK:]
    if checksum != _checksum(whole):
        raise _refusal(binding, "was cut or changed")
    return whole


def _fits(binding: Binding, key: Mapping[str, Any]) -> bool:
    """Tell whether a key is one of the index, in the partition that is asked."""
    return (
        key.keys() == {attribute.name for attribute in binding.keys}
        and all(
            key[attribute.name].keys() == {attribute.type}
            and isinstance(key[attribute.name][attribute.type], str)
            for attribute in binding.keys
        )
        and all(key[name] == value for name, value in binding.fixed.items())
    )


def _checksum(whole: bytes) -> bytes:
    return sha256(b"adminview cursor" + whole).digest()[:MARK]


def _refusal(binding: Binding, why: str) -> QuestionError:
    msg = f"access pattern {binding.pattern!r}: the cursor {why}"
    return QuestionError(msg)
