"""In-memory tables, a small model on them, and a clock that only waiting advances."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any
from zlib import crc32

from adminview.aws.deadline import Deadline
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.settings import Settings
from adminview.bulk.verify.run import VerifyRun
from adminview.bulk.verify.scope import Scope
from adminview.bulk.verify.verifier import Verifier, make_verifier
from adminview.cli.commands.verify import VerifyEnvironment, VerifyOptions, compare
from adminview.cli.output.printing import Console
from adminview.model import Item, Registry, Row, Source, number, view
from adminview.model.limits import ROW_LIMIT
from adminview.model.row import RowKey, provenance
from adminview.sync.derive import derive
from tests.support.fakes import NO_WAIT, TABLE, refusal
from tests.support.stream_records import image

things = Source("Things", partition_key="id")
notes = Source("Notes", partition_key="about", sort_key=number("number"))


@view(things)
def parts(item: Item) -> Iterator[Row]:
    """Derive a row per part, and one that several things may claim."""
    for name, value in item["parts"].items():
        yield Row(f"THING#{item['id']}", name, data={"value": value})
    if "shared" in item:
        yield Row("SHARED", item["shared"], data={"by": item["id"]})


@view(notes)
def note(item: Item) -> Iterator[Row]:
    """Derive a row per note."""
    yield Row(f"THING#{item['about']}", f"NOTE#{item['number']}", data=item.pick("text"))


def make_model() -> Registry:
    module = ModuleType("lab")
    module.__dict__.update(things=things, notes=notes, parts=parts, note=note)
    return replace(Registry.of([module]), modules=())


KEYS = {TABLE: ("PK", "SK"), "Things": ("id",), "Notes": ("about", "number")}
Image = dict[str, Any]


@dataclass
class MemoryDynamoDB:
    """The calls of verification and repair, with the rules of DynamoDB that matter here."""

    tables: dict[str, dict[tuple[str, ...], Image]] = field(
        default_factory=lambda: {name: {} for name in KEYS}
    )
    page_size: int = 1000
    calls: list[str] = field(default_factory=list)
    units: float = 0.0
    # Called before each operation, with its name; may raise.
    before: Callable[[str], None] = lambda _: None
    lock: Any = field(default_factory=RLock)

    def scan(self, TableName: str, Segment: int, TotalSegments: int, **more: Any) -> Any:  # noqa: N803 - boto3's
        with self.lock:
            self._called("scan")
            keys = sorted(
                key
                for key in self.tables[TableName]
                if crc32(key[0].encode()) % TotalSegments == Segment
            )
            if start := more.get("ExclusiveStartKey"):
                keys = [key for key in keys if key > _key(TableName, start)]
            limit = min(more["Limit"], self.page_size)
            page = [self.tables[TableName][key] for key in keys[:limit]]
            prefix = more.get("ExpressionAttributeValues", {}).get(":source", {}).get("S", "")
            items = [
                item for item in page if item.get("_owner", {}).get("S", "").startswith(prefix)
            ]
            answer: Any = {"Items": items, "ScannedCount": len(page)}
            if len(keys) > limit:
                answer["LastEvaluatedKey"] = _key_image(TableName, page[-1])
            return answer | {"ConsumedCapacity": self._spend(0.5 * max(1, len(page)))}

    def batch_get_item(self, RequestItems: Any, **_: Any) -> Any:  # noqa: N803 - boto3's
        with self.lock:
            self._called("batch_get_item")
            ((table, request),) = RequestItems.items()
            keys = [_key(table, key) for key in request["Keys"]]
            assert len(set(keys)) == len(keys) <= 100
            items = [self.tables[table][key] for key in keys if key in self.tables[table]]
            spent = self._spend(len(keys) * (1 if request.get("ConsistentRead") else 0.5))
            answer: Any = {"Responses": {table: items}, "UnprocessedKeys": {}}
            return {**answer, "ConsumedCapacity": [spent]}

    def get_item(self, TableName: str, Key: Image, **_: Any) -> Any:  # noqa: N803 - boto3's
        with self.lock:
            self._called("get_item")
            self._spend(1)
            item = self.tables[TableName].get(_key(TableName, Key))
            return {"Item": item} if item else {}

    def query(self, ExpressionAttributeValues: Any, **_: Any) -> Any:  # noqa: N803 - boto3's
        with self.lock:
            self._called("query")
            self._spend(0.5)
            owner = ExpressionAttributeValues[":owner"]
            rows = self.tables[TABLE].values()
            return {"Items": [row for row in rows if row.get("_owner") == owner]}

    def put_item(self, TableName: str, Item: Image, **condition: Any) -> Any:  # noqa: N803 - boto3's
        with self.lock:
            self._called("put_item")
            old = self.tables[TableName].get(_key(TableName, Item), {})
            owner = condition["ExpressionAttributeValues"][":owner"]
            if old.get("_owner", owner) != owner:
                raise refusal("ConditionalCheckFailedException")
            self.tables[TableName][_key(TableName, Item)] = Item
            return {}

    def delete_item(self, TableName: str, Key: Image, **condition: Any) -> Any:  # noqa: N803 - boto3's
        with self.lock:
            self._called("delete_item")
            old = self.tables[TableName].get(_key(TableName, Key))
            owner = condition.get("ExpressionAttributeValues", {}).get(":owner")
            if old is None or old.get("_owner") != owner:
                raise refusal("ConditionalCheckFailedException")
            del self.tables[TableName][_key(TableName, Key)]
            return {}

    def describe_table(self, TableName: str) -> Any:  # noqa: N803 - boto3's
        with self.lock:
            self._called("describe_table")
            return {
                "Table": {
                    "ItemCount": len(self.tables[TableName]),
                    "TableArn": f"arn:aws:dynamodb:us-east-1:{id(self)}:table/{TableName}",
                    "CreationDateTime": datetime(2026, 1, 1, tzinfo=UTC),
                }
            }

    def _called(self, name: str) -> None:
        self.calls.append(name)
        self.before(name)

    def _spend(self, units: float) -> dict[str, float]:
        self.units += units
        return {"CapacityUnits": units}


def _key(table: str, item: Image) -> tuple[str, ...]:
    return tuple(next(iter(item[name].values())) for name in KEYS[table])


def _key_image(table: str, item: Image) -> Image:
    return {name: item[name] for name in KEYS[table]}


@dataclass
class Lab:
    """The model, its tables, and a verifier with a controlled clock."""

    dynamodb: MemoryDynamoDB = field(default_factory=MemoryDynamoDB)
    model: Registry = field(default_factory=make_model)
    now: float = 1000.0
    while_waiting: Callable[[], None] = lambda: None
    stops: Callable[[], bool] = lambda: False

    @property
    def settings(self) -> Settings:
        names = {"Things": "Things", "Notes": "Notes"}
        return Settings(TABLE, "queue", names, self.model.fingerprint)

    @property
    def view(self) -> dict[Any, Image]:
        return self.dynamodb.tables[TABLE]

    def put(self, id_: str, *, synced: bool = True, **values: Any) -> None:
        """Write a thing: `shared` is the shared row it claims, other arguments are its parts."""
        shared = {"shared": values.pop("shared")} if "shared" in values else {}
        self.write("Things", {"id": id_, "parts": values, **shared}, synced=synced)

    def write(self, source: str, item: dict[str, Any], *, synced: bool = True) -> None:
        """Write any item, and its rows unless *synced* is False."""
        written = image(item)
        self.dynamodb.tables[source][_key(source, written)] = written
        if synced:
            self.sync(source, written)

    def sync(self, source: str, item: Image) -> None:
        declared = self.model.source(source)
        owner = declared.owner(item)
        for key in [key for key, row in self.view.items() if row.get("_owner") == {"S": owner}]:
            del self.view[key]
        stamp = provenance(owner, "1", 1.0, self.model.fingerprint)
        for key, row in derive(self.model.views_of(declared), item, room=ROW_LIMIT).rows.items():
            self.view[key] = {**row, **stamp}

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        time.sleep(0.0005)  # lets other threads run
        self.while_waiting()

    def verifier(self, max_rcu: float | None = None, **changes: Any) -> Verifier:
        budget = RateLimiter(max_rcu, lambda: self.now, self.sleep)
        verifier = make_verifier(self.model, self.settings, self.dynamodb, budget, NO_WAIT)  # type: ignore[arg-type]  # a stand-in
        timed = replace(verifier, clock=lambda: self.now, sleep=self.sleep, stopped=self.stops)
        return replace(timed, **changes)

    def scope(self, **options: Any) -> Scope:
        place = self.verifier().reader.place(TABLE, deadline=Deadline.after(60))
        options = {"segments": 1, "place": place, **options}
        return Scope(TABLE, self.model.fingerprint, **options)

    def verify(self, **options: Any) -> VerifyRun:
        """Run a complete verification."""
        verifier = self.verifier()
        run = verifier.begin(self.scope(**options))
        verifier.verify(run)
        return run

    def command(self, state: Path, **more: Any) -> tuple[int, str]:
        """Run the command, and return its exit status and its output."""
        options = VerifyOptions(state=state, **({"segments": 1} | more))
        dependencies = VerifyEnvironment(lambda: self.now, self.sleep, self.stops)
        console = Console(file=StringIO(), width=200)
        status = compare(
            self.dynamodb,  # type: ignore[arg-type]  # a stand-in
            self.model,
            self.settings,
            options,
            console,
            dependencies=dependencies,
        )
        return status, console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO


@dataclass
class HeardDrift:
    """An observer that records what is reported of each source."""

    reported: dict[str, Any] = field(default_factory=dict)

    def invoked(self, request_id: str) -> None:
        """Record an invocation."""

    def verified(self, source: str, counts: Any, drift: int, trouble: str) -> None:
        self.reported[source] = (counts, drift, trouble)


def found(run: VerifyRun) -> set[tuple[str, str, RowKey | None]]:
    """Return the differences by kind, item and row."""
    return {
        (difference.kind.value, difference.owner, difference.row) for difference in run.differences
    }


def adds_up(run: VerifyRun) -> bool:
    """Return whether everything was counted exactly once."""
    kinds = ("missing", "stale", "orphaned", "two-owners", "failing")
    return all(
        n["items"] + n["rows"] == n["equal"] + n["in_flight"] + n["differing"]
        and sum(n[kind] for kind in kinds) == n["repaired"] + n["left"]
        for n in run.counts.values()
    )
