"""Secondary indexes of AdminViewTable, and the keys a row gets in them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lambdas.model.attribute import Attribute, Spec, attributes
from lambdas.model.errors import DeclarationError, RowError
from lambdas.model.item import AttributeValue, encode

# All set by DynamoDB.
INDEX_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}")
KEY_PARTS = 4  # partition attributes, and as many sort attributes
INCLUDE_LIMIT = 20  # non-key attributes that one index carries


@dataclass(frozen=True, slots=True, init=False)
class Index:
    """A sparse index: it holds the rows that a view gives an entry in it, and no others.

    Several partition or sort attributes make a multi-attribute key. *include* is what the index
    carries besides keys; *all_because* makes it carry everything, and says why that is worth it.
    """

    name: str
    partition: tuple[Attribute, ...]
    sort: tuple[Attribute, ...]
    include: tuple[str, ...]
    all_because: str

    def __init__(
        self,
        name: str,
        *,
        partition: Spec,
        sort: Spec = (),
        include: Sequence[str] = (),
        all_because: str = "",
    ) -> None:
        if isinstance(include, str):
            msg = f"index {name!r}: include is a list, as in include=[{include!r}]"
            raise DeclarationError(msg)
        fields = (name, attributes(partition), attributes(sort), tuple(include), all_because)
        for field, value in zip(self.__slots__, fields, strict=True):
            object.__setattr__(self, field, value)
        for problem in self._problems():
            msg = f"index {name!r}: {problem}"
            raise DeclarationError(msg)

    @property
    def key(self) -> tuple[Attribute, ...]:
        """All key attributes: partition first, then sort, in order."""
        return self.partition + self.sort

    @property
    def projection(self) -> str:
        """What DynamoDB calls the amount that the index carries."""
        if self.all_because:
            return "ALL"
        return "INCLUDE" if self.include else "KEYS_ONLY"

    def carries(self, attribute: str) -> bool:
        """Tell whether a question to this index is answered with *attribute*."""
        return bool(self.all_because) or attribute in {
            *self.include,
            *(key.name for key in self.key),
        }

    def __call__(self, *values: object) -> "IndexEntry":
        """Give a row its place in this index: one value per key attribute, in order."""
        if len(values) != len(self.key):
            names = ", ".join(attribute.name for attribute in self.key)
            msg = f"index {self.name!r} is keyed by ({names}); {len(values)} values were given"
            raise RowError(msg)
        return IndexEntry(
            self,
            {
                attribute.name: self._key_value(attribute, value)
                for attribute, value in zip(self.key, values, strict=True)
            },
        )

    def shape(self) -> dict[str, Any]:
        """Describe the index as plain data, for the model's fingerprint."""
        return {
            "name": self.name,
            "partition": [[key.name, key.type] for key in self.partition],
            "sort": [[key.name, key.type] for key in self.sort],
            "projection": self.projection,
            "include": sorted(self.include),
        }

    def _key_value(self, attribute: Attribute, value: object) -> AttributeValue:
        encoded = encode(value)
        if encoded.keys() != {attribute.type}:
            msg = (
                f"index {self.name!r} declares {attribute.name!r} as {attribute.type}; "
                f"the view gave {next(iter(encoded))}"
            )
            raise RowError(msg)
        return encoded

    def _problems(self) -> Iterator[str]:
        """Find what DynamoDB would refuse when the index is created."""
        if not INDEX_NAME.fullmatch(self.name):
            yield "an index's name has 3 to 255 of A-Z a-z 0-9 _ . -"
        if not self.partition:
            yield "it needs a partition attribute"
        for side, parts in (("partition", self.partition), ("sort", self.sort)):
            if len(parts) > KEY_PARTS:
                yield f"{len(parts)} {side} attributes; DynamoDB takes at most {KEY_PARTS}"
        names = [attribute.name for attribute in self.key]
        if len(set(names)) != len(names):
            yield f"a key attribute is named twice in ({', '.join(names)})"
        if self.include and self.all_because:
            yield "include and all_because exclude each other"
        if len(set(self.include)) != len(self.include):
            yield f"it includes an attribute twice: {', '.join(self.include)}"
        if len(self.include) > INCLUDE_LIMIT:
            yield f"it includes {len(self.include)} attributes; DynamoDB takes {INCLUDE_LIMIT}"


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """The place of one row in one index."""

    index: Index
    values: dict[str, AttributeValue]
