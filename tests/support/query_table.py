"""An in-memory table that evaluates key conditions as DynamoDB does."""

from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import count
from operator import eq, ge
from types import ModuleType
from typing import Any, cast

from adminview.aws.view_reader import Boto3Reader, ViewReader
from adminview.model import AccessPattern, Index, Item, Registry, Row, Source, number, view
from adminview.query.engine import QueryEngine
from adminview.sync.derive import derive
from tests.support.fakes import NO_WAIT
from tests.support.stream_records import image

things = Source("Things", partition_key="id")


def value_of(wire: dict[str, Any]) -> Any:
    """Return a value that compares as DynamoDB compares."""
    ((kind, content),) = wire.items()
    readers: dict[str, Callable[[str], Any]] = {"N": Decimal, "S": str.encode, "B": b64decode}
    return readers[kind](content)


@dataclass
class FakeTable:
    """Rows, and the two calls that read them. A page holds at most *page* rows."""

    registry: Registry
    rows: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    page: int = 1000
    calls: Iterator[int] = field(default_factory=count)

    def query(self, **request: Any) -> dict[str, Any]:
        """Return one page of a key condition: equalities, and at most one range."""
        next(self.calls)
        index = next((i for i in self.registry.indexes if i.name == request.get("IndexName")), None)
        order = [*(index.sort if index else [])]
        names, values = request["ExpressionAttributeNames"], request["ExpressionAttributeValues"]
        rows = [row for row in self.rows.values() if matches(row, request, names, values)]

        def place(row: dict[str, Any]) -> Any:
            return [value_of(row[a.name]) for a in order], row["PK"]["S"], row["SK"]["S"]

        rows.sort(key=place, reverse=not request.get("ScanIndexForward", True))
        if start := request.get("ExclusiveStartKey"):
            ahead = request.get("ScanIndexForward", True)
            rows = [
                r for r in rows if (place(r) > place(start) if ahead else place(r) < place(start))
            ]
        page = rows[: min(request.get("Limit", self.page), self.page)]
        keys = [a.name for a in (index.stored_key if index else ())] + ["PK", "SK"]
        more = (
            {"LastEvaluatedKey": {n: page[-1][n] for n in keys}}
            if page[len(page) - 1 :] and rows[len(page) :]
            else {}
        )
        return {
            "Items": page,
            "Count": len(page),
            "ConsumedCapacity": {"CapacityUnits": 0.5},
            **more,
        }

    def batch_get_item(self, RequestItems: Any, **_: Any) -> dict[str, Any]:  # noqa: N803 - boto3's
        """Read up to a hundred rows."""
        next(self.calls)
        ((table, request),) = RequestItems.items()
        assert len(request["Keys"]) <= 100
        keys = [(key["PK"]["S"], key["SK"]["S"]) for key in request["Keys"]]
        assert len(set(keys)) == len(keys)
        rows = [self.rows[key] for key in keys if key in self.rows]
        return {"Responses": {table: rows}, "UnprocessedKeys": {}}


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": eq,
    ">=": ge,
    "begins_with": bytes.startswith,
}


def matches(row: Any, request: Any, names: Any, values: Any) -> bool:
    """Return whether a row matches a key condition."""
    for part in request["KeyConditionExpression"].split(" AND "):
        if part.startswith("begins_with"):
            name, mark = part.removeprefix("begins_with(").removesuffix(")").split(", ")
            operator = "begins_with"
        else:
            name, operator, mark = part.split(" ")
        mine = row.get(names[name])
        if mine is None:
            return False
        left, right = value_of(mine), value_of(values[mark])
        if not COMPARE[operator](left, right):
            return False
    return True


def make_registry(shards: int = 1, shards_were: int = 0, index: str = "ByColour") -> Registry:
    """Declare things by colour and weight, with a number of shards."""
    by_colour = Index(
        index,
        partition="colour",
        sort=number("weight"),
        include=["data"],
        shards=shards,
        shards_were=shards_were,
    )

    @view(things)
    def thing(item: Item) -> Iterator[Row]:
        """Derive a row per thing, by colour."""
        yield Row(
            f"THING#{item['id']}",
            "DETAILS",
            data=item.pick("id"),
            indexes=[by_colour(item["colour"], item["weight"])],
        )

    module = ModuleType("things")
    module.__dict__.update(
        things=things,
        thing=thing,
        by_colour=by_colour,
        of_colour=AccessPattern("of-colour", index=by_colour, partition="{colour}"),
        heavy=AccessPattern("heavy", index=by_colour, partition="{colour}", sort_from="{least}"),
    )
    return Registry.of([module])


@dataclass
class Lab:
    """A model, its table, and a query engine."""

    registry: Registry
    table: FakeTable = field(init=False)

    def __post_init__(self) -> None:
        self.table = FakeTable(self.registry)

    @property
    def query_engine(self) -> QueryEngine:
        return QueryEngine(
            self.registry, ViewReader(Boto3Reader(cast("Any", self.table)), "Table", NO_WAIT)
        )

    def put(self, id_: str, colour: str, weight: int) -> None:
        """Write the row of an item."""
        item = image({"id": id_, "colour": colour, "weight": weight})
        self.table.rows |= derive(self.registry.views, item, room=400_000).rows

    def delete(self, id_: str) -> None:
        self.table.rows.pop((f"THING#{id_}", "DETAILS"), None)

    def ids(self, answered: Any) -> list[str]:
        return [result.row["data"]["M"]["id"]["S"] for result in answered]

    def pages(self, name: str, limit: int, **parameters: Any) -> list[list[str]]:
        """Return all pages of an access pattern, followed by cursor."""
        pages, cursor = [], None
        while True:
            answer = self.query_engine.page(name, limit=limit, cursor=cursor, **parameters)
            pages.append(self.ids(answer.rows))
            if (cursor := answer.cursor) is None:
                return pages
