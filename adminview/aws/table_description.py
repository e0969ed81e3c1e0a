"""A table as DescribeTable, CreateTable and CloudFormation templates describe it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from adminview.model import Attribute, Index

Key: TypeAlias = tuple[tuple[str, str], ...]  # names and types of attributes

CREATING, DELETING = "CREATING", "DELETING"
READY = ("ACTIVE", "UPDATING")  # both can be read and written


@dataclass(frozen=True, slots=True, kw_only=True)
class TableIndex:
    """An index in DynamoDB; the shard is an ordinary key attribute."""

    name: str
    partition: Key
    sort: Key = ()
    projection: str
    include: tuple[str, ...] = ()
    local: bool = False
    status: str = "ACTIVE"
    ours: bool = True  # created by the View stack, not by hand
    bytes: int = field(default=0, compare=False)
    items: int = field(default=0, compare=False)
    warm_writes: int = field(default=0, compare=False)  # as of the table

    @classmethod
    def of(cls, shape: Mapping[str, Any]) -> "TableIndex":
        """Convert a declared index."""
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
        """Parse an index of a table; *types* maps the table's attributes to their types."""
        sides: dict[str, list[tuple[str, str]]] = {"HASH": [], "RANGE": []}
        for key in index["KeySchema"]:
            name = key["AttributeName"]
            # The attributes of an index in deletion may be missing.
            sides[key["KeyType"]].append((name, types.get(name, "")))
        # Templates have no status, and local indexes report none.
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
            warm_writes=_warm_writes(index),
        )

    @property
    def key(self) -> tuple[Key, Key]:
        """The partition and sort attributes: they decide which rows it holds, and their order."""
        return self.partition, self.sort

    @property
    def attributes(self) -> dict[str, str]:
        """The key attributes with their types."""
        return dict(self.partition + self.sort)

    @property
    def ready(self) -> bool:
        """Whether the index holds all its rows."""
        return self.status in READY

    def is_equivalent(self, other: "TableIndex") -> bool:
        """Return whether both are the same index to DynamoDB."""
        return (self.key, self.projection, set(self.include), self.local) == (
            other.key,
            other.projection,
            set(other.include),
            other.local,
        )

    def shape(self) -> dict[str, Any]:
        """Return the shape of the index; unlike a declared one, it keeps the order of *include*."""
        return {
            "name": self.name,
            "partition": [list(key) for key in self.partition],
            "sort": [list(key) for key in self.sort],
            "projection": self.projection,
            "include": list(self.include),
            **({"local": True} if self.local else {}),
        }

    def declaration(self) -> Index:
        """Return a declaration of the same index."""
        return Index(
            self.name,
            partition=[Attribute(*key) for key in self.partition],
            sort=[Attribute(*key) for key in self.sort],
            include=self.include,
            all_because="as deployed" if self.projection == "ALL" else "",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDescription:
    """A table. A template leaves the fields empty that only DynamoDB knows."""

    name: str
    key: Key
    indexes: tuple[TableIndex, ...] = ()
    stream_type: str | None = None  # None: it has no stream
    stream_arn: str | None = None
    status: str = ""
    arn: str = ""
    created: datetime | None = None
    items: int = 0  # approximate: DynamoDB counts every few hours
    bytes: int = 0
    protected: bool = False  # whether DynamoDB refuses to delete it
    warm_writes: int = 0  # write units per second that it takes at once; 0 if unknown

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> "TableDescription":
        """Parse a description."""
        types = {
            attribute["AttributeName"]: attribute["AttributeType"]
            for attribute in table.get("AttributeDefinitions", ())
        }
        ordered = sorted(
            table.get("KeySchema", ()), key=lambda attribute: str(attribute["KeyType"])
        )
        stream = table.get("StreamSpecification") or {}
        kinds = (("GlobalSecondaryIndexes", False), ("LocalSecondaryIndexes", True))
        return cls(
            name=table.get("TableName", ""),
            key=tuple(
                (attribute["AttributeName"], types.get(attribute["AttributeName"], ""))
                for attribute in ordered
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
            protected=bool(table.get("DeletionProtectionEnabled")),
            warm_writes=_warm_writes(table),
        )

    @property
    def ready(self) -> bool:
        """Whether the table can be read and written."""
        return self.status in READY

    def index(self, name: str) -> TableIndex | None:
        return next((index for index in self.indexes if index.name == name), None)


def _warm_writes(described: Mapping[str, Any]) -> int:
    return int((described.get("WarmThroughput") or {}).get("WriteUnitsPerSecond") or 0)
