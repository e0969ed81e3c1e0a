"""For each function, work that takes all that its role allows, and a look whether it was done.

A scenario raises if it was not. It begins with empty tables and an empty queue, and fills them with
the rights of the account; what is done with the role's rights is done by the deployed function.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Event, Thread
from typing import Any
from urllib.parse import urlencode

from adminview.bulk.lease_table import _item as progress_item
from adminview.bulk.segment import Segment, SegmentState
from adminview.http_api.health import UNREADABLE
from adminview.local.event_source import EventSource, UnsettledRecordsError
from adminview.local.event_source.shards import Stream
from adminview.local.http_server import event as http
from adminview.model.attribute import PK, SK
from adminview.model.dead_letter import ItemOrigin
from adminview.model.errors import RecordError
from adminview.model.item import encode
from adminview.model.readiness import READY, progress_table
from adminview.model.row import VIEW_TABLE, Attributes, RowKey, key_image, key_of
from adminview.model.total import EXPIRES, totals_table
from adminview.reconcile.expected_rows import expected_rows
from adminview.sync.dead_letter import dead_letter
from adminview.sync.decode import Route, routes
from adminview.totals.changes import add, contributions
from tests.support.e2e.closed import Closed
from tests.support.e2e.order_writer import keep_correcting
from tests.support.e2e.probes import count_probes
from tests.support.model import PAYMENT, PRODUCT, USER, order
from tests.support.readiness import record_item
from tests.support.shop import registry

PROGRESS = progress_table(VIEW_TABLE)
KEPT = ("built", "begun", "findings", READY)  # partitions of PROGRESS that outlast a run
TOTALS = totals_table(VIEW_TABLE)
ITEMS: Mapping[str, dict[str, Any]] = {
    "Orders": order(TransactionId="txn-abc-456"),
    "Payments": PAYMENT,
    "Products": PRODUCT,
    "Users": USER,
}
POISON = {name: value for name, value in order(SK="2025-01-01#1").items() if name != "Status"}
STALE = ("USER#user-123", "ORDER#of-an-older-model")
CROWD = 60  # orders, so that some are still to be migrated while others write them


@dataclass
class Lab:
    """The tables and the queue, and where their streams were last read."""

    closed: Closed

    @cached_property
    def dynamodb(self) -> Any:
        return self.closed.client("dynamodb")

    @cached_property
    def sqs(self) -> Any:
        return self.closed.client("sqs")

    @cached_property
    def event_sources(self) -> Mapping[str, EventSource]:
        """Follow each stream; what was delivered once is not delivered again."""
        return {source: self.closed.event_source(source) for source in ITEMS}

    def follow(self) -> None:
        """Deliver what the streams have, as if the iterators from last time had expired."""
        for event_source in self.event_sources.values():
            self._drain(event_source)

    @cached_property
    def totals_source(self) -> EventSource:
        return self.closed.totals_source()

    def follow_view(self) -> None:
        """Deliver what the view's stream has to the totals function."""
        self._drain(self.totals_source)

    def _drain(self, source: EventSource) -> None:
        source._discover_at = 0.0
        for lane in source._open.values():
            lane._cursor._iterator = None
        try:
            source.drain(attempts=2)
        except UnsettledRecordsError as error:
            msg = f"a function has records delivered again: {self.closed.logged or error}"
            raise AssertionError(msg) from error

    @property
    def counts(self) -> dict[RowKey, str]:
        """Return the count of each total that is stored."""
        return {key_of(item): item["count"]["N"] for item in self.scan(TOTALS)}

    def show_totals(self) -> None:
        """Write the totals of all items, without anybody's help."""
        totals: dict[RowKey, Any] = {}
        for source, item in ITEMS.items():
            for row in self.rows_of(source, item).values():
                for group, amounts in contributions(row)[0].items():
                    add(totals.setdefault(group, {}), amounts)
        stored = (
            key_image(group) | {name: {"N": str(amount)} for name, amount in amounts.items()}
            for group, amounts in totals.items()
        )
        self._write(TOTALS, [{"PutRequest": {"Item": item}} for item in stored])

    @cached_property
    def routes(self) -> Mapping[str, Route]:
        return routes(registry(), {})

    def empty(self) -> None:
        """Delete every item, row, progress record, total and dead letter."""
        for table in (*ITEMS, VIEW_TABLE, PROGRESS, TOTALS):
            self.clear(table)
        self.sqs.purge_queue(QueueUrl=self.closed.queue)

    def clear(self, table: str) -> None:
        """Delete all that is in a table."""
        key = self.routes[table].source.key if table in self.routes else (PK, SK)
        self._write(
            table,
            [
                {
                    "DeleteRequest": {
                        "Key": {attribute.name: item[attribute.name] for attribute in key}
                    }
                }
                for item in self.scan(table)
            ],
        )

    def put(self, source: str, *items: dict[str, Any]) -> None:
        """Write items, as their service would."""
        self._write(source, [{"PutRequest": {"Item": _image(item)}} for item in items])

    def rows_of(self, source: str, item: dict[str, Any]) -> dict[RowKey, Attributes]:
        """Derive the rows that an item should have."""
        route, image = self.routes[source], _image(item)
        return expected_rows(
            route, route.source.owner(image), image, time.time(), registry().fingerprint
        )

    @cached_property
    def all_rows(self) -> set[RowKey]:
        """Name the rows of all items."""
        return {key for source, item in ITEMS.items() for key in self.rows_of(source, item)}

    def record_built(self, *without: str) -> None:
        """Write the record of what is built, without anybody's help."""
        record = record_item(registry(), without=without)
        self._write(PROGRESS, [{"PutRequest": {"Item": record}}])

    def show(self, rows: Iterable[Attributes]) -> None:
        """Write rows, without anybody's help."""
        self._write(VIEW_TABLE, [{"PutRequest": {"Item": row}} for row in rows])

    def stale_row(self) -> Attributes:
        """Make a row that an order has from earlier, and nothing but its owner leads to."""
        row = next(iter(self.rows_of("Orders", ITEMS["Orders"]).values()))
        return {**row, **key_image(STALE)}

    @property
    def rows(self) -> set[RowKey]:
        """Name the rows that are there."""
        return {key_of(row) for row in self.scan(VIEW_TABLE)}

    def letter(self, source: str, item: dict[str, Any]) -> str:
        """Return a dead letter about an item, as the sync writes it."""
        route, image = self.routes[source], _image(item)
        origin = ItemOrigin(
            source=source,
            table=source,
            key=route.source.key_of(image),
            owner=route.source.owner(image),
            event="MODIFY",
            sequence="000000000000000000001",
            at=time.time(),
            stream=self.closed.stream_of(source),
            model=registry().fingerprint,
        )
        return dead_letter(0, origin, RecordError("planted"), ()).body

    def letter_of_lambda(self, source: str) -> str:
        """Return Lambda's dead letter about the newest record of a stream."""
        arn = self.closed.stream_of(source)
        stream = Stream(self.closed.client("dynamodbstreams"), arn)
        (shard,) = stream.shards()
        cursor, last = stream.cursor(shard), None
        while page := cursor.read(1000):
            last = page[-1]
        assert last, f"nothing is in the stream of {source}"
        info = {
            "shardId": shard.id,
            "startSequenceNumber": last.sequence,
            "endSequenceNumber": last.sequence,
            "approximateArrivalOfFirstRecord": "2026-09-21T14:13:20Z",
            "approximateArrivalOfLastRecord": "2026-09-21T14:13:20Z",
            "batchSize": 1,
            "streamArn": arn,
        }
        context = {"condition": "RetryAttemptsExhausted", "approximateInvokeCount": 1}
        return json.dumps({"requestContext": context, "DDBStreamBatchInfo": info})

    def send(self, *bodies: str) -> None:
        """Send dead letters that can be received at once."""
        for body in bodies:
            self.sqs.send_message(QueueUrl=self.closed.queue, MessageBody=body, DelaySeconds=0)

    def waiting(self) -> dict[str, int]:
        """Count the dead letters by state: visible, in flight and delayed."""
        names = {"": "visible", "NotVisible": "in flight", "Delayed": "delayed"}
        response = self.sqs.get_queue_attributes(QueueUrl=self.closed.queue, AttributeNames=["All"])
        return {
            words: int(response["Attributes"][f"ApproximateNumberOfMessages{name}"])
            for name, words in names.items()
        }

    def scan(self, table: str) -> list[dict[str, Any]]:
        """Read a whole table."""
        pages = self.dynamodb.get_paginator("scan").paginate(TableName=table)
        return [item for page in pages for item in page["Items"]]

    def _write(self, table: str, requests: list[dict[str, Any]]) -> None:
        for first in range(0, len(requests), 25):
            self.dynamodb.batch_write_item(RequestItems={table: requests[first : first + 25]})


def sync(lab: Lab) -> None:
    """Write the rows of all sources, delete some, and leave a dead letter."""
    for source, item in ITEMS.items():
        lab.put(source, item)
    lab.put("Orders", POISON)
    lab.follow()
    _same(lab.rows, lab.all_rows)
    assert any(lab.waiting().values()), "no dead letter was sent"
    for source in ITEMS:
        lab.clear(source)
    lab.follow()
    _same(lab.rows, set())


def replay(lab: Lab) -> None:
    """Replay dead letters of all sources; those that fail or cannot be parsed stay in the queue."""
    for source, item in ITEMS.items():
        lab.put(source, item)
    lab.put("Orders", POISON)
    lab.show([lab.stale_row()])
    lab.send(
        *(lab.letter(source, item) for source, item in ITEMS.items() if source != "Users"),
        lab.letter_of_lambda("Users"),
        lab.letter("Orders", POISON),
        "not understood",
    )
    summary = lab.closed.invoke("Replay", {})
    _same(lab.rows, lab.all_rows)
    waiting = lab.waiting()
    assert waiting == {"visible": 1, "in flight": 0, "delayed": 1}, f"{waiting}, {summary}"


def verify(lab: Lab) -> None:
    """Find rows that are missing, of every source, and one that should not be there."""
    for source, item in ITEMS.items():
        lab.put(source, item)
    lab.put("Users", {**USER, "userId": "user-456"})
    lab.show([*lab.rows_of("Users", USER).values(), lab.stale_row()])
    summary = lab.closed.invoke("Verify", {"sample": 1, "grace": 0.01, "segments": 1})
    assert summary["finished"], summary["trouble"]
    missing = {name: counts.get("missing", 0) for name, counts in summary["sources"].items()}
    assert all(missing[source] for source in ITEMS), summary
    assert summary["sources"]["Orders"]["orphaned"] == 1, summary
    totals = summary["totals"]
    assert totals["finished"], totals["trouble"]
    assert totals["differing"] > 0, "no total is stored"


def backfill(lab: Lab) -> None:
    """Fill the view from all sources, after a worker that was killed, and sweep what is left."""
    for source, item in ITEMS.items():
        lab.put(source, item)
    lab.put("Orders", POISON)
    lab.show([lab.stale_row()])
    _leave_half_done(lab)
    with lab.closed.followed():  # or it does not begin
        begun = _begin("Backfill", lab, task="backfill", segments=1)
    _work("Backfill", lab, begun)
    _same(lab.rows, lab.all_rows)
    lab.show([lab.stale_row()])
    _work("Backfill", lab, _begin("Backfill", lab, task="sweep", segments=1))
    _same(lab.rows, lab.all_rows)
    assert any(lab.waiting().values()), "no dead letter was sent"
    lab.show([lab.stale_row()])
    options = {"task": "verify", "repair": True, "grace": 0.01, "segments": 1}
    _work("Backfill", lab, _begin("Backfill", lab, **options))
    _same(lab.rows, lab.all_rows)
    left = [item for item in lab.scan(PROGRESS) if item["PK"]["S"] not in KEPT]
    assert left == [], "notes of work that has ended are left"
    _verify_totals(lab)
    _await_totals(lab)


def build(lab: Lab) -> None:
    """Record a deployment, and start its build."""
    report = lab.closed.invoke("Build", {})
    lab.closed.stop_builds()
    assert report["unbuilt"] == len(ITEMS), report
    (record,) = [item for item in lab.scan(PROGRESS) if item["PK"]["S"] == READY]
    assert json.loads(record["facts"]["S"])["execution"], record


def migrate(lab: Lab) -> None:
    """Complete old orders while somebody else writes to them."""
    orders = [order(SK=f"2025-03-01#{number}", OrderId=str(number)) for number in range(CROWD)]
    lab.put("Orders", *orders)
    stop = Event()
    writer = Thread(
        target=keep_correcting, args=(lab.dynamodb, [_image(each) for each in orders], stop)
    )
    writer.start()
    try:
        options = {"task": "migrate", "migration": "orders-delivery-date", "segments": 1}
        _work("Migrate", lab, _begin("Migrate", lab, **options))
    finally:
        stop.set()
        writer.join()
    assert all("DeliveryDate" in item for item in lab.scan("Orders")), "orders are left"
    left = [item for item in lab.scan(PROGRESS) if item["PK"]["S"] not in KEPT]
    assert left == [], "notes of work that has ended are left"


def totals(lab: Lab) -> None:
    """Count rows that appear, and take back those that vanish."""
    lab.follow_view()  # what other tests wrote
    lab.clear(TOTALS)
    lab.show(row for source, item in ITEMS.items() for row in lab.rows_of(source, item).values())
    lab.follow_view()
    assert lab.counts, "no total was added up"
    assert {*lab.counts.values()} == {"1"}, lab.counts
    lab.clear(VIEW_TABLE)
    lab.follow_view()
    assert {*lab.counts.values()} == {"0"}, lab.counts


def api(lab: Lab) -> None:
    """Query the tables and every index, once with a join, and read the health."""
    lab.show_totals()
    lab.show(row for source, item in ITEMS.items() for row in lab.rows_of(source, item).values())
    lab.record_built()
    lab.closed.renew("Api")  # it remembers for a while what is ready, and its health
    status, body = _get(lab, "/health")
    assert UNREADABLE not in body, f"/health: {status} {body}"
    known = {"user_id": "user-123", "product_id": "product-def-789"}
    places = {(pattern.total is None, pattern.index): pattern for pattern in registry().patterns}
    for pattern in places.values():
        parameters = {name: known.get(name, "2025-03-01") for name in pattern.parameters}
        status, body = _get(lab, f"/patterns/{pattern.name}?{urlencode(parameters)}")
        assert status == 200, f"{pattern.name}: {status} {body}"
    status, body = _get(lab, "/patterns/buyers-of-product?product_id=product-def-789")
    assert "ada@shop.example" in body, f"the profile is not joined: {body}"
    status, body = _get(lab, "/patterns/best-sellers")
    assert "product-def-789" in body, f"the ranked totals are not read: {body}"


# The sync first, before the others have filled the streams.
SCENARIOS: Mapping[str, Callable[[Lab], None]] = {
    "Sync": sync,
    "Replay": replay,
    "Verify": verify,
    "Backfill": backfill,
    "Build": build,
    "Migrate": migrate,
    "Api": api,
    "Totals": totals,
}


def _begin(function: str, lab: Lab, **options: Any) -> Any:
    """Have the work cut into segments, as the state machine does."""
    fixed: dict[str, Any] = {"step": "begin"}
    if function == "Backfill":
        fixed["mappings"] = dict(lab.closed.mappings)
    return lab.closed.invoke(function, {**options, **fixed})


def _work(function: str, lab: Lab, begun: Any) -> None:
    """Have each segment worked on, the runs finished, and what follows begun."""
    for segment in begun["segments"]:
        done = lab.closed.invoke(function, segment)
        assert done["done"], done
    lab.closed.invoke(function, begun["finish"])
    if "then" in begun:
        _work(function, lab, lab.closed.invoke(function, begun["then"]))


def _verify_totals(lab: Lab) -> None:
    """Have totals compared with the rows, and an abandoned one expire."""
    key = {"PK": {"S": "DailySales.7"}, "SK": {"S": "2025-03-01"}}
    lab.dynamodb.put_item(TableName=TOTALS, Item=key | {"count": {"N": "5"}})
    options = {"task": "verify-totals", "repair": True, "grace": 0.01, "segments": 1}
    _work("Backfill", lab, _begin("Backfill", lab, **options))
    abandoned = lab.dynamodb.get_item(TableName=TOTALS, Key=key)["Item"]
    assert EXPIRES in abandoned, "the abandoned total stays"
    lab.dynamodb.delete_item(TableName=TOTALS, Key=key)


def _await_totals(lab: Lab) -> None:
    """Have the end of a build awaited, whose rows are complete: the totals are not yet."""
    on_totals = [pattern.name for pattern in registry().patterns if pattern.total]
    lab.record_built(*on_totals)
    stop = Event()
    counter = Thread(target=count_probes, args=(lab.closed, lab.dynamodb, stop))
    counter.start()
    try:
        _begin("Backfill", lab, task="build", phase="finish", model=registry().fingerprint)
    finally:
        stop.set()
        counter.join()
    (record,) = [item for item in lab.scan(PROGRESS) if item["PK"]["S"] == READY]
    assert json.loads(record["facts"]["S"])["patterns"].keys() >= {*on_totals}, record


def _leave_half_done(lab: Lab) -> None:
    """Note a page of orders as a worker does that is killed before it writes the page."""
    note = [lab.routes["Orders"].source.key_of(_image(ITEMS["Orders"]))]
    record = SegmentState(Segment("backfill/Orders", 0, 1), registry().fingerprint, intent=note)
    item = progress_item(replace(record, holder="killed", version=1))
    lab.dynamodb.put_item(TableName=PROGRESS, Item=item)


def _get(lab: Lab, path: str) -> tuple[int, str]:
    answer = lab.closed.invoke("Api", http("GET", path, {}))
    return answer["statusCode"], answer["body"]


def _image(item: dict[str, Any]) -> dict[str, Any]:
    return {name: encode(value) for name, value in item.items()}


def _same(actual: set[RowKey], expected: set[RowKey]) -> None:
    missing, left = sorted(expected - actual), sorted(actual - expected)
    assert actual == expected, f"missing: {missing[:3]}; too many: {left[:3]}"
