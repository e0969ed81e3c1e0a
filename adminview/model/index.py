"""Secondary indexes of AdminViewTable, and the keys a row gets in them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar
from zlib import crc32

from adminview.model.attribute import PK, Attribute, Spec, attributes, number
from adminview.model.errors import DeclarationError, RowError
from adminview.model.item import AttributeValue, encode
from adminview.model.limits import PARTITION_LIMIT, SORT_LIMIT, check_key

# All set by DynamoDB.
INDEX_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}")
KEY_PARTS = 4  # partition attributes, and as many sort attributes
INCLUDE_LIMIT = 20  # non-key attributes that one index carries

MOST_SHARDS = 32  # ours: a question asks them all, and a cursor has a place in each


@dataclass(frozen=True, slots=True, init=False)
class Index:
    """A sparse index: it holds the rows that a view gives an entry in it, and no others.

    It needs a key attribute of its own. Several make a multi-attribute key. *include* is what it
    carries besides keys; *all_because* makes it carry everything, and says why that is worth it.

    A partition takes about 1,000 writes a second, and one that is hotter holds up the whole sync.
    *shards* spreads each partition over so many, by the rows' owners; a question asks all of them.
    When their number changes, *shards_were* keeps the rows of the older one readable until they
    have been written anew. An index that had none needs a new one beside it, with its own key.
    """

    name: str
    partition: tuple[Attribute, ...]
    sort: tuple[Attribute, ...]
    include: tuple[str, ...]
    all_because: str
    shards: int
    shards_were: int
    # What follows from the above, kept because every row asks for it.
    shard: Attribute | None = field(repr=False, compare=False)
    # Each key attribute that a view gives a row, and how long it may be if it is text.
    _places: tuple[tuple[str, int], ...] = field(repr=False, compare=False)

    local: ClassVar[bool] = False

    def __init__(  # noqa: PLR0913 - all but the name are keywords
        self,
        name: str,
        *,
        partition: Spec,
        sort: Spec = (),
        include: Sequence[str] = (),
        all_because: str = "",
        shards: int = 1,
        shards_were: int = 0,
    ) -> None:
        if isinstance(include, str):
            msg = f"index {name!r}: include is a list, as in include=[{include!r}]"
            raise DeclarationError(msg)
        self._set(name=name, partition=attributes(partition), sort=attributes(sort))
        self._set(include=tuple(include), all_because=all_because)
        self._set(shards=shards, shards_were=shards_were)
        self._set(shard=self._shard())
        for problem in self._problems():
            msg = f"index {name!r}: {problem}"
            raise DeclarationError(msg)
        texts = {one.name: self._limit(one) if one.type == "S" else 0 for one in self.entry_key}
        self._set(_places=tuple(texts.items()))

    @staticmethod
    def from_shape(shape: Mapping[str, Any]) -> "Index":
        """Make an index as it was described, by whatever model."""
        carries: dict[str, Any] = {
            "include": shape["include"],
            "all_because": "it is described so" if shape["projection"] == "ALL" else "",
        }
        sort = [Attribute(*key) for key in shape["sort"]]
        if shape.get("local"):
            return LocalIndex(shape["name"], sort=sort[0], **carries)
        shards, shards_were = shape.get("shards", (1, 0))
        return Index(
            shape["name"],
            partition=[Attribute(*key) for key in shape["partition"]],
            sort=sort,
            shards=shards,
            shards_were=shards_were,
            **carries,
        )

    @property
    def key(self) -> tuple[Attribute, ...]:
        """All key attributes: partition first, then sort, in order."""
        return self.partition + self.sort

    @property
    def entry_key(self) -> tuple[Attribute, ...]:
        """The key attributes that a view gives a row."""
        return self.key

    def _shard(self) -> Attribute | None:
        """Name the partition attribute that tells shards apart, if there are several."""
        several = isinstance(self.shards_read, int) and self.shards_read > 1
        return number(f"_{self.name}_shard") if several else None

    @property
    def shards_read(self) -> int:
        """How many shards a question must ask."""
        return max(self.shards, self.shards_were)

    @property
    def stored_partition(self) -> tuple[Attribute, ...]:
        """The partition attributes as DynamoDB has them: the shard is one more."""
        return (*self.partition, self.shard) if self.shard else self.partition

    @property
    def stored_key(self) -> tuple[Attribute, ...]:
        """All key attributes as DynamoDB has them."""
        return self.stored_partition + self.sort

    def shard_of(self, owner: str) -> int:
        """Choose the shard of an item's rows; the same always, and everywhere."""
        return crc32(owner.encode()) % self.shards

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
        if len(values) != len(self._places):
            names = ", ".join(attribute.name for attribute in self.entry_key)
            msg = f"index {self.name!r} is keyed by ({names}); {len(values)} values were given"
            raise RowError(msg)
        keys: dict[str, AttributeValue] = {}
        # Most need no closer look: text of a byte per character. Every row comes by here.
        for (name, text_limit), value in zip(self._places, values):  # noqa: B905 - see above
            if type(value) is str and 0 < len(value) <= text_limit and value.isascii():
                keys[name] = {"S": value}
            else:
                keys[name] = self._key_value(name, value)
        return IndexEntry(self, keys)

    def shape(self) -> dict[str, Any]:
        """Describe the index as plain data, for the model's fingerprint."""
        shards = {"shards": [self.shards, self.shards_were]} if self.shard else {}
        return {
            "name": self.name,
            "partition": [[key.name, key.type] for key in self.partition],
            "sort": [[key.name, key.type] for key in self.sort],
            "projection": self.projection,
            "include": sorted(self.include),
            **shards,
            **({"local": True} if self.local else {}),
        }

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _limit(self, attribute: Attribute) -> int:
        return SORT_LIMIT if attribute in self.sort else PARTITION_LIMIT

    def _key_value(self, name: str, value: object) -> AttributeValue:
        ((given, _),) = (encoded := encode(value)).items()
        attribute = next(one for one in self.entry_key if one.name == name)
        if (type_ := attribute.type) != given:
            msg = f"index {self.name!r} declares {name!r} as {type_}; the view gave {given}"
            raise RowError(msg)
        check_key(name, encoded, self._limit(attribute))
        return encoded

    def _shard_problems(self) -> Iterator[str]:
        for count, least in ((self.shards, 1), (self.shards_were, 0)):
            if isinstance(count, bool) or not isinstance(count, int):
                yield f"{count!r} shards: a whole number"
            elif not least <= count <= MOST_SHARDS:
                yield f"{count} shards: {least} to {MOST_SHARDS}"
        if self.shards_were == 1 < self.shards:
            yield "an index without shards has another key: make a new one of other attributes"

    def _problems(self) -> Iterator[str]:
        """Find what DynamoDB would refuse when the index is created."""
        if not INDEX_NAME.fullmatch(self.name):
            yield "an index's name has 3 to 255 of A-Z a-z 0-9 _ . -"
        if not self.partition:
            yield "it needs a partition attribute"
        for side, parts in (("partition", self.stored_partition), ("sort", self.sort)):
            if len(parts) > KEY_PARTS:
                shard = ", the shard among them" if self.shard in parts else ""
                yield f"{len(parts)} {side} attributes{shard}; DynamoDB takes at most {KEY_PARTS}"
        yield from self._shard_problems()
        names = [attribute.name for attribute in self.key]
        if len(set(names)) != len(names):
            yield f"a key attribute is named twice in ({', '.join(names)})"
        if self.include and self.all_because:
            yield "include and all_because exclude each other"
        if len(set(self.include)) != len(self.include):
            yield f"it includes an attribute twice: {', '.join(self.include)}"
        if len(self.include) > INCLUDE_LIMIT:
            yield f"it includes {len(self.include)} attributes; DynamoDB takes {INCLUDE_LIMIT}"


class LocalIndex(Index):
    """Another order of the rows of one partition of the table: it can be read consistently.

    It is made with the table and can never be added to one that exists, and it limits what all rows
    of one PK may take, with their places in local indexes, to 10 GB (both set by DynamoDB).
    """

    __slots__ = ()
    local: ClassVar[bool] = True

    def __init__(
        self,
        name: str,
        *,
        sort: str | Attribute,
        include: Sequence[str] = (),
        all_because: str = "",
    ) -> None:
        super().__init__(name, partition=PK, sort=sort, include=include, all_because=all_because)
        if len(self.sort) != 1:
            msg = f"local index {name!r}: it has one sort attribute"
            raise DeclarationError(msg)

    @property
    def entry_key(self) -> tuple[Attribute, ...]:
        """The key attributes that a view gives a row: its PK it has already."""
        return self.sort


@dataclass(slots=True)
class IndexEntry:
    """The place of one row in one index."""

    index: Index
    values: dict[str, AttributeValue]
