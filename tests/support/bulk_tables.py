"""In-memory tables for bulk work that can be killed at any call, with a controlled clock."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from threading import RLock
from types import ModuleType
from typing import Any
from zlib import crc32

from adminview.aws.dead_letter_producer import DeadLetterProducer
from adminview.aws.deadline import Deadline
from adminview.aws.metered_client import Metered
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.settings import Settings
from adminview.bulk.lease_table import LEASE_SECONDS, LeaseTable
from adminview.bulk.runs import Bulk
from adminview.bulk.segment import Segment, SegmentState
from adminview.bulk.worker import SegmentWorker
from adminview.model import Item, Registry, Row, Source, number, view
from adminview.model.limits import ROW_LIMIT
from adminview.model.readiness import progress_table
from adminview.model.row import RowKey, provenance
from adminview.model.total import totals_table
from adminview.sync.derive import derive
from tests.support.fakes import NO_WAIT, TABLE, FakeQueue, refusal
from tests.support.stream_records import image

PROGRESS = progress_table(TABLE)
KEYS = {
    TABLE: ("PK", "SK"),
    PROGRESS: ("PK", "SK"),
    totals_table(TABLE): ("PK", "SK"),
    "Orders": ("id",),
    "Things": ("id",),
    "Notes": ("about", "number"),
}
OLD = "an-older-model"
RUN = "backfill/Things"
Image = dict[str, Any]
Hook = Callable[[str, str], object]


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


class KilledError(BaseException):
    """The process was killed."""


@dataclass
class Tables:
    """The DynamoDB calls that bulk work makes, with the rules it depends on."""

    tables: dict[str, dict[tuple[str, ...], Image]] = field(
        default_factory=lambda: {name: {} for name in KEYS}
    )
    page_size: int = 1000
    calls: list[tuple[str, str]] = field(default_factory=list)  # operation and table
    before: Hook = lambda *_: None  # may raise: the call has no effect
    after: Hook = lambda *_: None  # may raise: the response is lost
    unprocessed: Callable[[list[Any]], list[Any]] = lambda _: []
    bad: set[str] = field(default_factory=set)  # sort keys of refused rows
    lock: Any = field(default_factory=RLock)

    def scan(self, TableName: str, Segment: int, TotalSegments: int, **more: Any) -> Any:  # noqa: N803
        def effect() -> Any:
            items_by_key = self.tables[TableName]
            keys = sorted(
                key for key in items_by_key if crc32(key[0].encode()) % TotalSegments == Segment
            )
            if start := more.get("ExclusiveStartKey"):
                keys = [key for key in keys if key > _key(TableName, start)]
            page = [items_by_key[key] for key in keys[: min(more["Limit"], self.page_size)]]
            items = [item for item in page if _passes(item, more)]
            last = _key_image(TableName, page[-1]) if len(keys) > len(page) else {}
            left = {"LastEvaluatedKey": last} if last else {}
            return {"Items": items, "ScannedCount": len(page), **left, **_units(len(page) / 2)}

        return self._call("scan", TableName, effect)

    def batch_get_item(self, RequestItems: Any, **_: Any) -> Any:  # noqa: N803
        ((table, request),) = RequestItems.items()

        def effect() -> Any:
            keys = [_key(table, key) for key in request["Keys"]]
            assert len(set(keys)) == len(keys) <= 100
            items = [self.tables[table][key] for key in keys if key in self.tables[table]]
            spent = [{"CapacityUnits": len(keys)}]
            left: Any = {"Responses": {table: items}, "UnprocessedKeys": {}}
            return {**left, "ConsumedCapacity": spent}

        return self._call("batch_get_item", table, effect)

    def get_item(self, TableName: str, Key: Image, **_: Any) -> Any:  # noqa: N803
        def effect() -> Any:
            item = self.tables[TableName].get(_key(TableName, Key))
            return {**({"Item": item} if item else {}), **_units(1)}

        return self._call("get_item", TableName, effect)

    def query(self, TableName: str, ExpressionAttributeValues: Any, **more: Any) -> Any:  # noqa: N803
        def effect() -> Any:
            values = dict(ExpressionAttributeValues)
            sort, condition = values.pop(":sk", {"S": ""})["S"], more.get("KeyConditionExpression")
            ((name, value),) = values.items()
            attribute = {":owner": "_owner", ":pk": "PK"}[name]
            rows = sorted(self.tables[TableName].items())
            rows = [(key, row) for key, row in rows if row.get(attribute) == value]
            if condition and condition.endswith("begins_with(#sk, :sk)"):
                rows = [(key, row) for key, row in rows if key[1].startswith(sort)]
            elif condition and condition.endswith("#sk < :sk"):
                rows = [(key, row) for key, row in rows if key[1] < sort]
            return {"Items": [row for _, row in rows], **_units(1)}

        return self._call("query", TableName, effect)

    def put_item(self, TableName: str, Item: Image, **arguments: Any) -> Any:  # noqa: N803
        def effect() -> Any:
            self._check(self.tables[TableName].get(_key(TableName, Item)), arguments)
            if TableName == TABLE and Item["SK"]["S"] in self.bad:
                raise refusal("ValidationException")
            self.tables[TableName][_key(TableName, Item)] = Item
            return _units(1)

        return self._call("put_item", TableName, effect)

    def delete_item(self, TableName: str, Key: Image, **arguments: Any) -> Any:  # noqa: N803
        def effect() -> Any:
            self._check(self.tables[TableName].get(_key(TableName, Key)), arguments)
            self.tables[TableName].pop(_key(TableName, Key), None)
            return _units(1)

        return self._call("delete_item", TableName, effect)

    def update_item(self, TableName: str, Key: Image, **arguments: Any) -> Any:  # noqa: N803
        """Let a total expire, which is all that bulk work updates."""

        def effect() -> Any:
            total = self.tables[TableName][_key(TableName, Key)]
            values = arguments["ExpressionAttributeValues"]
            if total.get("count") != values[":count"] or "expires" in total:
                raise refusal("ConditionalCheckFailedException")
            total["expires"] = values[":at"]
            return _units(1)

        return self._call("update_item", TableName, effect)

    def batch_write_item(self, RequestItems: Any, **_: Any) -> Any:  # noqa: N803
        ((table, requests),) = RequestItems.items()

        def effect() -> Any:
            items = [request["PutRequest"]["Item"] for request in requests]
            assert len({_key(table, item) for item in items}) == len(items) <= 25
            if any(item["SK"]["S"] in self.bad for item in items):
                raise refusal("ValidationException")
            left = self.unprocessed(requests)
            for item in items:
                if item not in [request["PutRequest"]["Item"] for request in left]:
                    self.tables[table][_key(table, item)] = item
            return {"UnprocessedItems": {table: left} if left else {}, **_units(len(items))}

        return self._call("batch_write_item", table, effect)

    def describe_table(self, TableName: str) -> Any:  # noqa: N803
        return {"Table": {"ItemCount": len(self.tables[TableName])}}

    def on(self, before: Hook = lambda *_: None, after: Hook = lambda *_: None) -> None:
        """Install the hooks, in place of earlier ones."""
        self.before, self.after = before, after

    def written(self, *tables: str) -> list[tuple[str, str]]:
        """List the writes to some tables."""
        writes = {"put_item", "delete_item", "batch_write_item"}
        return [call for call in self.calls if call[0] in writes and call[1] in tables]

    def _call(self, name: str, table: str, effect: Callable[[], Any]) -> Any:
        with self.lock:
            self.calls.append((name, table))
            self.before(name, table)
            answer = effect()
            self.after(name, table)
            return answer

    def _check(self, old: Image | None, arguments: dict[str, Any]) -> None:
        """Check the conditions that the product uses."""
        values = arguments.get("ExpressionAttributeValues", {})
        old = old or {}
        fits = {
            None: True,
            "attribute_not_exists(#pk)": not old,
            "#version = :version AND #holder = :holder": (old.get("version"), old.get("holder"))
            == (values.get(":version"), values.get(":holder")),
            "#facts = :facts": old.get("facts") == values.get(":facts"),
            "attribute_exists(#pk) AND attribute_not_exists(#owner)": bool(old)
            and "_owner" not in old,
            "#owner = :owner": old.get("_owner") == values.get(":owner"),
            "attribute_not_exists(#owner) OR #owner = :owner": old.get(
                "_owner", values.get(":owner")
            )
            == values.get(":owner"),
        }
        if not fits[arguments.get("ConditionExpression")]:
            raise refusal("ConditionalCheckFailedException")


def _passes(item: Image, arguments: dict[str, Any]) -> bool:
    values = arguments.get("ExpressionAttributeValues", {})
    owner, model = item.get("_owner", {}).get("S", ""), item.get("_model")
    return owner.startswith(values.get(":source", {}).get("S", "")) and (
        ":model" not in values or model != values[":model"]
    )


def _key(table: str, item: Image) -> tuple[str, ...]:
    return tuple(next(iter(item[name].values())) for name in KEYS[table])


def _key_image(table: str, item: Image) -> Image:
    return {name: item[name] for name in KEYS[table]}


def _units(units: float) -> Image:
    return {"ConsumedCapacity": {"CapacityUnits": units}}


@dataclass
class World:
    """The model, its tables and queue, and a controlled clock."""

    db: Tables = field(default_factory=Tables)
    queue: FakeQueue = field(default_factory=FakeQueue)
    model: Registry = field(default_factory=make_model)
    fingerprint: str = "model-1"
    now: float = 1_790_000_000.0
    reads: RateLimiter = field(default_factory=RateLimiter)
    writes: RateLimiter = field(default_factory=RateLimiter)
    most: int = 250  # items per page

    @property
    def view(self) -> dict[tuple[str, ...], Image]:
        return self.db.tables[TABLE]

    @property
    def progress(self) -> LeaseTable:
        client: Any = self.db
        return LeaseTable(client, PROGRESS, NO_WAIT, lambda: self.now)

    @property
    def bulk(self) -> Bulk:
        return self.make_bulk()

    def make_bulk(self) -> Bulk:
        client: Any = self.db
        names = {source.name: source.name for source in self.model.sources}
        queue: Any = self.queue
        return Bulk(
            registry=self.model,
            settings=Settings(TABLE, "queue", names, self.fingerprint),
            client=Metered(client, self.reads, self.writes),
            progress=self.progress,
            post=DeadLetterProducer(queue, "queue", NO_WAIT),
            backoff=NO_WAIT,
            now=lambda: self.now,
        )

    def put(self, id_: str, **values: Any) -> None:
        """Write a thing: `shared` is the shared row it claims, other arguments are its parts."""
        shared = {"shared": values.pop("shared")} if "shared" in values else {}
        self.write("Things", {"id": id_, "parts": values, **shared})

    def write(self, source: str, item: dict[str, Any]) -> None:
        written = image(item)
        self.db.tables[source][_key(source, written)] = written

    def delete(self, id_: str) -> None:
        self.db.tables["Things"].pop((id_,), None)

    def sync(self, id_: str) -> None:
        """Write the rows of a thing as the live sync would, all changes included."""
        owner = {"S": f"Things/{id_}"}
        for key in [key for key, row in self.view.items() if row.get("_owner") == owner]:
            del self.view[key]
        item = self.db.tables["Things"].get((id_,))
        views = self.model.views_of(self.model.source("Things"))
        for key, row in derive(views, item, room=ROW_LIMIT).rows.items():
            self.view[key] = {**row, **provenance(owner["S"], "1", 1.0, self.fingerprint)}

    def row(self, owner: str, pk: str, sk: str, model: str = OLD) -> None:
        """Put a row into the view, as an older model left it."""
        stamp = provenance(owner, "1", 1.0, model) if owner else {}
        self.view[pk, sk] = {**image({"PK": pk, "SK": sk}), **stamp}

    def expected(self) -> dict[RowKey, Image]:
        """Derive the rows of all source items."""
        rows: dict[RowKey, Image] = {}
        for source in self.model.sources:
            views = self.model.views_of(source)
            for item in self.db.tables[source.name].values():
                rows |= derive(views, item, room=ROW_LIMIT).rows
        return rows

    def shown(self) -> dict[tuple[str, ...], Image]:
        """Return the rows without the attributes that depend on the time of writing."""
        return {
            key: {name: value for name, value in row.items() if not name.startswith("_")}
            for key, row in self.view.items()
        }

    def worker(self, run: str = RUN, **changes: Any) -> SegmentWorker:
        worker = self.bulk.worker(run)
        task: Any = worker.task
        worker = replace(worker, task=replace(task, max_items=self.most))
        return replace(worker, clock=lambda: self.now, sleep=self.sleep, **changes)

    def sleep(self, seconds: float) -> None:
        self.now += max(seconds, 0.001)  # a smaller step would be lost in a float of this size

    def work(self, run: str = RUN, number: int = 0, of: int = 1, **changes: Any) -> SegmentState:
        """Work on one segment with a new worker."""
        return self.worker(run, **changes).work(Segment(run, number, of), end=never())

    def run(self, run: str = RUN, of: int | None = 1) -> Any:
        """Execute a run, segment by segment."""
        for segment in self.bulk.begin(run, of, deadline=never()):
            self.worker(run).work(segment, end=never())
        return self.bulk.finish(run, deadline=never())

    def records(self, run: str = RUN) -> list[SegmentState]:
        return self.progress.records(run, deadline=never())

    def later(self) -> None:
        """Advance the clock until every lease has expired."""
        self.now += LEASE_SECONDS + 1


def never() -> Deadline:
    return Deadline.after(600)


def at_call(number: int, do: Callable[[], None]) -> Hook:
    """Return a hook that runs *do* at one call, counted from 0."""
    calls = count()

    def hook(_: str, __: str) -> None:
        if next(calls) == number:
            do()

    return hook


def each(*hooks: Hook) -> Hook:
    """Return a hook that calls several hooks in turn."""

    def hook(name: str, table: str) -> None:
        for hook in hooks:
            hook(name, table)

    return hook


def dies_from(number: int) -> Hook:
    """Return a hook that kills the process at a call; every later call fails too."""
    calls = count()

    def hook(_: str, __: str) -> None:
        if next(calls) >= number:
            raise KilledError

    return hook
