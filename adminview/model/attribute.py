"""Key attributes and their types, as tables and indexes declare them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from adminview.model.errors import DeclarationError

KEY_TYPES = ("S", "N", "B")  # DynamoDB takes no other types as keys
TYPE_WORDS = {  # for messages
    "S": "text",
    "N": "a number",
    "B": "bytes",
    "BOOL": "a boolean",
    "NULL": "null",
    "M": "a map",
    "L": "a list",
    "SS": "a set",
    "NS": "a set",
    "BS": "a set",
}
NAME_LIMIT = 255  # bytes, set by DynamoDB


@dataclass(frozen=True, slots=True)
class Attribute:
    """A key attribute: its name and the type of its values."""

    name: str
    type: str = "S"

    def __post_init__(self) -> None:
        if not 0 < (size := len(self.name.encode())) <= NAME_LIMIT:
            msg = f"a key attribute's name must have 1 to {NAME_LIMIT} bytes, not {size}"
            raise DeclarationError(msg)
        if self.type not in KEY_TYPES:
            msg = (
                f"key attribute {self.name!r} has type {self.type!r}; "
                f"DynamoDB takes only {', '.join(KEY_TYPES)} as key types"
            )
            raise DeclarationError(msg)


def text(name: str) -> Attribute:
    """Declare a text key attribute; a plain name means the same."""
    return Attribute(name, "S")


def number(name: str) -> Attribute:
    """Declare a numeric key attribute: its values sort as numbers."""
    return Attribute(name, "N")


def binary(name: str) -> Attribute:
    """Declare a binary key attribute."""
    return Attribute(name, "B")


Spec: TypeAlias = str | Attribute | Sequence[str | Attribute]


def attributes(spec: Spec) -> tuple[Attribute, ...]:
    """Normalize a name, an attribute, or a sequence of either."""
    specs = [spec] if isinstance(spec, str | Attribute) else spec
    return tuple(text(name) if isinstance(name, str) else name for name in specs)


PK, SK = text("PK"), text("SK")  # of every row
