"""Secondary indexes of AdminViewTable, and the keys a row gets in them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar
from zlib import crc32

from adminview.model.attribute import PK, TYPE_WORDS, Attribute, Spec, attributes, number
from adminview.model.errors import DeclarationError, RowError
from adminview.model.item import AttributeValue, encode
from adminview.model.limits import PARTITION_LIMIT, SORT_LIMIT, check_key

# All set by DynamoDB.
INDEX_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}")
KEY_PARTS = 4  # partition attributes, and as many sort attributes
INCLUDE_LIMIT = 20  # non-key attributes of one index

MOST_SHARDS = 32  # ours: a query reads every shard, and a cursor has a position in each


@dataclass(frozen=True, slots=True, init=False)
class Index:
    """A sparse global index: it holds only the rows that a view gives an entry in it.

    It needs a key attribute that no other index has; several attributes make a multi-attribute key.
    *include* lists the attributes it carries besides keys. *all_because* makes it carry all
    attributes and states why that is worth the cost.

    A partition takes about 1,000 writes a second, and a hotter one delays the whole sync. *shards*
    spreads each partition by the rows' owners; a query reads all shards. After the number of shards
    has changed, set *shards_were* to the old number until all rows have been rewritten. An index
    without shards cannot get any: declare a new index with other key attributes.

    Raises a DeclarationError if DynamoDB would refuse the index.
    """

    name: str
    partition: tuple[Attribute, ...]
    sort: tuple[Attribute, ...]
    include: tuple[str, ...]
    all_because: str
    shards: int
    shards_were: int
    # Derived from the fields above; stored because every row needs them.
    shard: Attribute | None = field(repr=False, compare=False)
    # The key attributes of an entry, each with its size limit if it is text, else 0.
    _entry_limits: tuple[tuple[str, int], ...] = field(repr=False, compare=False)

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
            msg = f"index {name!r}: include must be a list, as in include=[{include!r}]"
            raise DeclarationError(msg)
        self._set(name=name, partition=attributes(partition), sort=attributes(sort))
        self._set(include=tuple(include), all_because=all_because)
        self._set(shards=shards, shards_were=shards_were)
        self._set(shard=self._shard())
        for problem in self._problems():
            msg = f"index {name!r}: {problem}"
            raise DeclarationError(msg)
        limits = ((key.name, self._limit(key) if key.type == "S" else 0) for key in self.entry_key)
        self._set(_entry_limits=tuple(limits))

    @staticmethod
    def from_shape(shape: Mapping[str, Any]) -> "Index":
        """Rebuild an index from its `shape`, which any model may have written."""
        carries: dict[str, Any] = {
            "include": shape["include"],
            "all_because": "as deployed" if shape["projection"] == "ALL" else "",
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
        """All key attributes: partition first, then sort."""
        return self.partition + self.sort

    @property
    def entry_key(self) -> tuple[Attribute, ...]:
        """The key attributes that a view gives a row."""
        return self.key

    def _shard(self) -> Attribute | None:
        """Return the partition attribute with the shard number, if there are several shards."""
        is_sharded = isinstance(self.shards_read, int) and self.shards_read > 1
        return number(f"_{self.name}_shard") if is_sharded else None

    @property
    def shards_read(self) -> int:
        """The number of shards that a query must read."""
        return max(self.shards, self.shards_were)

    @property
    def stored_partition(self) -> tuple[Attribute, ...]:
        """The partition attributes in DynamoDB, with the shard."""
        return (*self.partition, self.shard) if self.shard else self.partition

    @property
    def stored_key(self) -> tuple[Attribute, ...]:
        """All key attributes in DynamoDB, with the shard."""
        return self.stored_partition + self.sort

    def shard_of(self, owner: str) -> int:
        """Return the shard of an item's rows; it never changes while *shards* stays the same."""
        return crc32(owner.encode()) % self.shards

    @property
    def projection(self) -> str:
        """DynamoDB's projection type."""
        if self.all_because:
            return "ALL"
        return "INCLUDE" if self.include else "KEYS_ONLY"

    def carries(self, attribute: str) -> bool:
        """Return whether a query of this index returns *attribute*."""
        return bool(self.all_because) or attribute in {
            *self.include,
            *(key.name for key in self.key),
        }

    def __call__(self, *values: object) -> "IndexEntry":
        """Return a row's entry in this index: one value per key attribute, in order.

        Raises a RowError if DynamoDB would refuse the values.
        """
        if len(values) != len(self._entry_limits):
            names = ", ".join(attribute.name for attribute in self.entry_key)
            msg = f"index {self.name!r} needs values of ({names}); the view gave {len(values)}"
            raise RowError(msg)
        keys: dict[str, AttributeValue] = {}
        # ASCII text within the limit needs no further check. This runs for every row.
        for (name, text_limit), value in zip(self._entry_limits, values):  # noqa: B905 - see above
            if type(value) is str and 0 < len(value) <= text_limit and value.isascii():
                keys[name] = {"S": value}
            else:
                keys[name] = self._key_value(name, value)
        return IndexEntry(self, keys)

    def shape(self) -> dict[str, Any]:
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
        ((actual, _),) = (encoded := encode(value)).items()
        attribute = next(key for key in self.entry_key if key.name == name)
        if (type_ := attribute.type) != actual:
            msg = (
                f"{name!r} of index {self.name!r} must be {TYPE_WORDS[type_]}; "
                f"the view gave {TYPE_WORDS[actual]}"
            )
            if (type_, actual) == ("S", "N"):
                msg += f"; to sort by number, declare number({name!r})"
            raise RowError(msg)
        check_key(name, encoded, self._limit(attribute))
        return encoded

    def _shard_problems(self) -> Iterator[str]:
        for count, least in ((self.shards, 1), (self.shards_were, 0)):
            if isinstance(count, bool) or not isinstance(count, int):
                yield f"shards must be a whole number, not {count!r}"
            elif not least <= count <= MOST_SHARDS:
                yield f"shards must be {least} to {MOST_SHARDS}, not {count}"
        if self.shards_were == 1 < self.shards:
            yield "shards cannot be added to an index: declare a new one with other key attributes"

    def _problems(self) -> Iterator[str]:
        """Yield what DynamoDB would refuse when it creates the index."""
        if not INDEX_NAME.fullmatch(self.name):
            yield "an index's name must have 3 to 255 characters of A-Z a-z 0-9 _ . -"
        if not self.partition:
            yield "it needs a partition attribute"
        for side, parts in (("partition", self.stored_partition), ("sort", self.sort)):
            if len(parts) > KEY_PARTS:
                shard = ", including the shard" if self.shard in parts else ""
                yield f"{len(parts)} {side} attributes{shard}; DynamoDB takes at most {KEY_PARTS}"
        yield from self._shard_problems()
        names = [attribute.name for attribute in self.key]
        if len(set(names)) != len(names):
            yield f"a key attribute is named twice in ({', '.join(names)})"
        if self.include and self.all_because:
            yield "declare either include or all_because, not both"
        if len(set(self.include)) != len(self.include):
            yield f"it includes an attribute twice: {', '.join(self.include)}"
        if len(self.include) > INCLUDE_LIMIT:
            yield f"it includes {len(self.include)} attributes; DynamoDB takes {INCLUDE_LIMIT}"


class LocalIndex(Index):
    """A local index: another sort order within each PK. It supports consistent reads.

    DynamoDB creates it only together with the table, and then limits all rows of one PK, with their
    entries in local indexes, to 10 GB.
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
            msg = f"local index {name!r}: declare exactly one sort attribute"
            raise DeclarationError(msg)

    @property
    def entry_key(self) -> tuple[Attribute, ...]:
        """The key attributes that a view gives a row; every row has its PK already."""
        return self.sort


@dataclass(slots=True)
class IndexEntry:
    """The key values of one row in one index."""

    index: Index
    values: dict[str, AttributeValue]
