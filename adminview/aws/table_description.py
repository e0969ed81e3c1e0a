"""A table as DescribeTable, CreateTable and a template describe it; nothing else reads that."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from adminview.model import Attribute, Index

Key: TypeAlias = tuple[tuple[str, str], ...]  # names and types of attributes

CREATING, DELETING = "CREATING", "DELETING"
READY = ("ACTIVE", "UPDATING")  # either way it is read and written


@dataclass(frozen=True, slots=True, kw_only=True)
class TableIndex:
    """An index as DynamoDB has it: a shard is an attribute like any other."""

    name: str
    partition: Key
    sort: Key = ()
    projection: str
    include: tuple[str, ...] = ()
    local: bool = False
    status: str = "ACTIVE"
    ours: bool = True  # made by the View stack, and not by hand
    bytes: int = field(default=0, compare=False)
    items: int = field(default=0, compare=False)

    @classmethod
    def of(cls, shape: Mapping[str, Any]) -> "TableIndex":
        """Make a declared index what it is to DynamoDB."""
        index = Index.from_shape(shape)
        return cls(
            name=index.name,
            partition=tuple((key.name, key.type) for key in index.stored_partition),
            sort=tuple((key.name, key.type) for key in index.sort),
            projection=index.projection,
            include=index.include,
            local=index.local,
        )

    @classmethod
    def described(
        cls, index: Mapping[str, Any], types: Mapping[str, str], *, local: bool
    ) -> "TableIndex":
        """Read an index of a table; *types* are those of the table's attributes."""
        sides: dict[str, list[tuple[str, str]]] = {"HASH": [], "RANGE": []}
        for key in index["KeySchema"]:
            name = key["AttributeName"]
            # While an index is deleted, its attributes may be described no more.
            sides[key["KeyType"]].append((name, types.get(name, "")))
        # A template has no status, and DynamoDB reports none of local indexes.
        status = str(index.get("IndexStatus") or "ACTIVE")
        return cls(
            name=index["IndexName"],
            partition=tuple(sides["HASH"]),
            sort=tuple(sides["RANGE"]),
            projection=index["Projection"]["ProjectionType"],
            include=tuple(index["Projection"].get("NonKeyAttributes") or ()),
            local=local,
            status=CREATING if index.get("Backfilling") else status,
            bytes=index.get("IndexSizeBytes", 0),
            items=index.get("ItemCount", 0),
        )

    @property
    def key(self) -> tuple[Key, Key]:
        """What decides which rows are in it, and in what order."""
        return self.partition, self.sort

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes of its key, with their types."""
        return dict(self.partition + self.sort)

    @property
    def ready(self) -> bool:
        """Tell whether every row that belongs in it is there."""
        return self.status in READY

    def same(self, other: "TableIndex") -> bool:
        """Tell whether DynamoDB need change nothing to make one the other."""
        return (self.key, self.projection, set(self.include), self.local) == (
            other.key,
            other.projection,
            set(other.include),
            other.local,
        )

    def shape(self) -> dict[str, Any]:
        """Describe it as a wave does that keeps it; what it includes in the order it has."""
        return {
            "name": self.name,
            "partition": [list(key) for key in self.partition],
            "sort": [list(key) for key in self.sort],
            "projection": self.projection,
            "include": list(self.include),
            **({"local": True} if self.local else {}),
        }

    def declaration(self) -> Index:
        """Declare the same index."""
        return Index(
            self.name,
            partition=[Attribute(*key) for key in self.partition],
            sort=[Attribute(*key) for key in self.sort],
            include=self.include,
            all_because="it is so" if self.projection == "ALL" else "",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDescription:
    """A table; what only DynamoDB knows is empty where it was read from elsewhere."""

    name: str
    key: Key
    indexes: tuple[TableIndex, ...] = ()
    stream_type: str | None = None  # None: it has no stream
    stream_arn: str | None = None
    status: str = ""
    arn: str = ""
    created: datetime | None = None
    items: int = 0  # about: DynamoDB counts every few hours
    bytes: int = 0

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> "TableDescription":
        """Read a description."""
        types = {
            one["AttributeName"]: one["AttributeType"]
            for one in table.get("AttributeDefinitions", ())
        }
        ordered = sorted(table.get("KeySchema", ()), key=lambda one: str(one["KeyType"]))
        stream = table.get("StreamSpecification") or {}
        kinds = (("GlobalSecondaryIndexes", False), ("LocalSecondaryIndexes", True))
        return cls(
            name=table.get("TableName", ""),
            key=tuple(
                (one["AttributeName"], types.get(one["AttributeName"], "")) for one in ordered
            ),
            indexes=tuple(
                TableIndex.described(index, types, local=local)
                for kind, local in kinds
                for index in table.get(kind) or ()
            ),
            stream_type=stream.get("StreamViewType") if stream.get("StreamEnabled") else None,
            stream_arn=table.get("LatestStreamArn"),
            status=table.get("TableStatus", ""),
            arn=table.get("TableArn", ""),
            created=table.get("CreationDateTime"),
            items=int(table.get("ItemCount", 0)),
            bytes=int(table.get("TableSizeBytes", 0)),
        )

    @property
    def ready(self) -> bool:
        """Tell whether it can be read and written."""
        return self.status in READY

    def index(self, name: str) -> TableIndex | None:
        """Find an index."""
        return next((one for one in self.indexes if one.name == name), None)
