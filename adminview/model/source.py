"""A source: a DynamoDB table whose stream is followed."""

import re
from dataclasses import dataclass, field
from typing import Any

from adminview.model.attribute import Attribute, Spec, attributes
from adminview.model.errors import DeclarationError, UnreadableRecordError
from adminview.model.item import AttributeValue, Image

TABLE_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}")  # set by DynamoDB
UNKNOWN = "unknown"  # stands for the source where none is known: in metrics, and in verifications
OWNER_LIMIT = 2048  # bytes: the owner is a partition key of the owner index


@dataclass(frozen=True, slots=True, init=False)
class Source:
    """A table we follow. *name* is the table's name, unless a deployment maps it to another."""

    name: str
    partition_key: Attribute
    sort_key: Attribute | None
    # The attributes that identify an item, kept because every record asks for them.
    key: tuple[Attribute, ...] = field(repr=False, compare=False)

    def __init__(self, name: str, partition_key: Spec, sort_key: Spec | None = None) -> None:
        if not TABLE_NAME.fullmatch(name):
            msg = f"source {name!r}: a table's name has 3 to 255 of A-Z a-z 0-9 _ . -"
            raise DeclarationError(msg)
        if name == UNKNOWN:
            msg = (
                f"source {name!r}: metrics of rows that no source owns have this name; "
                "give the source another, and map it to its table by `sources` in cdk.json"
            )
            raise DeclarationError(msg)
        keys = [attributes(spec) for spec in (partition_key, sort_key) if spec is not None]
        if any(len(key) != 1 for key in keys):
            msg = f"source {name!r}: a table has one partition key and at most one sort key"
            raise DeclarationError(msg)
        if len({key[0].name for key in keys}) != len(keys):
            msg = f"source {name!r}: its partition key and its sort key are one attribute"
            raise DeclarationError(msg)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "partition_key", keys[0][0])
        object.__setattr__(self, "sort_key", keys[1][0] if keys[1:] else None)
        object.__setattr__(self, "key", tuple(one for key in keys for one in key))

    def key_of(self, image: Image) -> dict[str, AttributeValue]:
        """Take an item's key out of *image*, in the order and with the types declared."""
        key = {attribute.name: image.get(attribute.name, {}) for attribute in self.key}
        for attribute in self.key:
            value = key[attribute.name]
            if len(value) != 1 or attribute.type not in value:
                found = next(iter(value), "missing")
                msg = (
                    f"source {self.name!r} declares key attribute {attribute.name!r} "
                    f"as {attribute.type}; in the record it is {found}"
                )
                raise UnreadableRecordError(msg)
        return key

    def owner(self, image: Image) -> str:
        """Name one item of this source: ``Orders/user-123/2025-03-01#2121195``."""
        return self.owner_of(self.key_of(image))

    def owner_of(self, key: dict[str, AttributeValue]) -> str:
        """Name the item that has a key, in the order and with the types declared."""
        values = [_escape(value) for typed in key.values() for value in typed.values()]
        owner = "/".join([self.name, *values])
        plain = owner.isascii() and len(owner) <= OWNER_LIMIT  # as most are
        if not plain and len(owner.encode()) > OWNER_LIMIT:
            msg = (
                f"an item of source {self.name!r} has a key too long to be an owner: "
                f"with the source's name it may take {OWNER_LIMIT} bytes"
            )
            raise UnreadableRecordError(msg)
        return owner

    def key_from(self, owner: str) -> dict[str, AttributeValue]:
        """Read an owner back into the key of its item."""
        name, *values = owner.split("/")
        if name != self.name or len(values) != len(self.key):
            msg = f"{owner!r} does not name an item of source {self.name!r}"
            raise ValueError(msg)
        return {
            attribute.name: {attribute.type: _unescape(value)}
            for attribute, value in zip(self.key, values, strict=True)
        }

    def shape(self) -> dict[str, Any]:
        """Describe the source as plain data, for the model's fingerprint."""
        return {"name": self.name, "key": [[key.name, key.type] for key in self.key]}


def _escape(value: str) -> str:
    """Keep the parts of an owner apart, and readable: only the separator is escaped."""
    return value.replace("%", "%25").replace("/", "%2F")


def _unescape(value: str) -> str:
    return value.replace("%2F", "/").replace("%25", "%")
