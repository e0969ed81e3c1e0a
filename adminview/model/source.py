"""A source: a DynamoDB table whose stream feeds the view."""

import re
from dataclasses import dataclass, field
from typing import Any

from adminview.model.attribute import TYPE_WORDS, Attribute, Spec, attributes
from adminview.model.errors import DeclarationError, UnreadableRecordError
from adminview.model.item import AttributeValue, Image

TABLE_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}")  # set by DynamoDB
UNKNOWN = "unknown"  # the source in metrics and verifications if it is not known
OWNER_LIMIT = 2048  # bytes: the owner is a partition key of the owner index


@dataclass(frozen=True, slots=True, init=False)
class Source:
    """A table whose stream feeds the view.

    *name* is the table's name, unless the deployment maps it to another.
    """

    name: str
    partition_key: Attribute
    sort_key: Attribute | None
    # The attributes that identify an item; stored because every record needs them.
    key: tuple[Attribute, ...] = field(repr=False, compare=False)

    def __init__(self, name: str, partition_key: Spec, sort_key: Spec | None = None) -> None:
        if not TABLE_NAME.fullmatch(name):
            msg = f"source {name!r}: a name must have 3 to 255 characters of A-Z a-z 0-9 _ . -"
            raise DeclarationError(msg)
        if name == UNKNOWN:
            msg = (
                f"source {name!r}: this name is reserved for rows without a source in metrics; "
                "choose another, and map it to the table under `sources` in cdk.json"
            )
            raise DeclarationError(msg)
        keys = [attributes(spec) for spec in (partition_key, sort_key) if spec is not None]
        if any(len(key) != 1 for key in keys):
            msg = f"source {name!r}: a table has one partition key and at most one sort key"
            raise DeclarationError(msg)
        if len({key[0].name for key in keys}) != len(keys):
            msg = (
                f"source {name!r}: the partition key and the sort key must be different attributes"
            )
            raise DeclarationError(msg)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "partition_key", keys[0][0])
        object.__setattr__(self, "sort_key", keys[1][0] if keys[1:] else None)
        object.__setattr__(self, "key", tuple(attribute for key in keys for attribute in key))

    def key_of(self, image: Image) -> dict[str, AttributeValue]:
        """Return the key of *image*, in declared order; raises an UnreadableRecordError."""
        key = {attribute.name: image.get(attribute.name, {}) for attribute in self.key}
        for attribute in self.key:
            value = key[attribute.name]
            if len(value) != 1 or attribute.type not in value:
                actual = TYPE_WORDS.get(next(iter(value), ""), "missing")
                msg = (
                    f"key attribute {attribute.name!r} of source {self.name!r} must be "
                    f"{TYPE_WORDS[attribute.type]}, but is {actual}"
                )
                raise UnreadableRecordError(msg)
        return key

    def owner(self, image: Image) -> str:
        """Return the name of an item: ``Orders/user-123/2025-03-01#2121195``."""
        return self.owner_of(self.key_of(image))

    def owner_of(self, key: dict[str, AttributeValue]) -> str:
        """Return the name of the item with *key*, which is in declared order."""
        values = [_escape(value) for typed in key.values() for value in typed.values()]
        owner = "/".join([self.name, *values])
        plain = owner.isascii() and len(owner) <= OWNER_LIMIT  # faster than encoding
        if not plain and len(owner.encode()) > OWNER_LIMIT:
            msg = (
                f"an item of source {self.name!r} has too long a key: "
                f"with the source's name it may have {OWNER_LIMIT} bytes"
            )
            raise UnreadableRecordError(msg)
        return owner

    def key_from(self, owner: str) -> dict[str, AttributeValue]:
        """Return the key of the item that an owner names; raises a ValueError."""
        name, *values = owner.split("/")
        if name != self.name or len(values) != len(self.key):
            msg = f"{owner!r} does not name an item of source {self.name!r}"
            raise ValueError(msg)
        return {
            attribute.name: {attribute.type: _unescape(value)}
            for attribute, value in zip(self.key, values, strict=True)
        }

    def shape(self) -> dict[str, Any]:
        return {"name": self.name, "key": [[key.name, key.type] for key in self.key]}


def _escape(value: str) -> str:
    """Escape only the separator, so that owners stay readable."""
    return value.replace("%", "%25").replace("/", "%2F")


def _unescape(value: str) -> str:
    return value.replace("%2F", "/").replace("%25", "%")
