"""Totals are compared with the rows on real engines, while changes keep arriving."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from io import StringIO
from random import Random
from threading import RLock
from typing import Any

import pytest

from adminview.aws.clients import Clients
from adminview.aws.metered_client import Metered
from adminview.aws.rate_limit import RateLimiter
from adminview.bulk.runs import Bulk, make_bulk
from adminview.bulk.verify.scope import Scope
from adminview.cli.commands.verify import VerifyOptions, verify_here
from adminview.cli.output.printing import Console
from adminview.cli.shutdown import Shutdown
from adminview.handlers.verify import VerifyDependencies, verify
from adminview.local.engines import EngineName
from adminview.local.local_cloud import LocalCloud
from adminview.model import Registry
from adminview.model.row import VIEW_TABLE
from adminview.model.total import totals_table
from tests.support import totals_views
from tests.support.backfill_workers import bulk_of
from tests.support.fakes import Context
from tests.support.verify_tables import HeardDrift

REGISTRY = Registry.of([totals_views])
TOTALS = totals_table(VIEW_TABLE)
PENDING = {"PK": {"S": "OrdersByStatus.1"}, "SK": {"S": "PENDING"}}
BASE = 1_790_000_000.0
OLD = 1_000_000.0  # seconds since 1970: all positions of that time have expired


@dataclass
class Traffic:
    """Orders that come, change and go; the sync and the totals follow at any time."""

    cloud: LocalCloud
    random: Random = field(default_factory=lambda: Random(1))  # noqa: S311
    now: float = 0.0
    writing: bool = True
    lock: Any = field(default_factory=RLock)

    def put(self, number: int, **changes: Any) -> None:
        pick = self.random.choice
        product, revenue = pick(["eggs", "tea"]), Decimal(self.random.randrange(1000)) / 100
        item = {
            "id": str(number),
            "status": pick(["PENDING", "PAID", "SHIPPED"]),
            "shop": pick(["north", "south#1"]),
            "day": f"2025-03-{self.random.randint(1, 3):02}",
            "total": revenue,
            "lines": {product: {"units": 1, "revenue": revenue}},
            "note": "-",
        }
        self.cloud.put("Orders", item | changes)

    def step(self) -> None:
        """Change an order, and let some of the changes that are in flight arrive."""
        with self.lock:
            self._step()

    def _step(self) -> None:
        if not self.writing:
            return
        number = self.random.randrange(16)
        if self.random.random() < 0.2:
            self.cloud.delete("Orders", {"id": str(number)})
        else:
            self.put(number)
        if self.random.random() < 0.5:
            for source in self.cloud.sources:
                source.drain()
        if self.random.random() < 0.3:
            assert self.cloud.totals
            self.cloud.totals.drain()

    def wait(self, seconds: float) -> None:
        """Let time pass: what is in flight arrives within a grace period."""
        with self.lock:
            self.now += seconds
            self.cloud.settle()
            self._step()
            self.cloud.settle()

    def verify(self, **options: Any) -> tuple[int, dict[str, Any]]:
        """Run the command; return its status and its JSON."""
        status, text = self.command(as_json=True, **options)
        return status, json.loads(text)

    def command(self, **options: Any) -> tuple[int, str]:
        console = Console(file=StringIO(), width=200)
        chosen = {"as_json", "restart"} & options.keys()
        shown = {name: options.pop(name) for name in chosen}
        bulk = self.bulk(options.pop("max_rcu", None))
        scope = Scope(**{"segments": 1, "grace": 1.0, **options})
        status = verify_here(bulk, VerifyOptions(scope, totals=True, **shown), self.stop, console)
        assert isinstance(console.file, StringIO)
        return status, console.file.getvalue()

    def bulk(self, max_rcu: float | None = None) -> Bulk:
        """Connect to the tables, with changes between the calls that read rows and totals."""
        client: Any = Between(self.cloud.clients.dynamodb, self.step)
        reads = RateLimiter(max_rcu, lambda: self.now, self.wait)
        connected = make_bulk(
            self.cloud.registry,
            self.cloud.settings,
            Clients(client, self.cloud.clients.sqs),
            Metered(client, reads, RateLimiter()),
        )
        now = lambda: BASE + self.now  # noqa: E731
        progress = replace(connected.progress, now=now)
        return replace(connected, progress=progress, now=now, clock=lambda: self.now)

    @property
    def stop(self) -> Shutdown:
        return Waiting(self)


class Waiting(Shutdown):
    """A stop request whose sleep lets the traffic's time pass."""

    def __init__(self, traffic: Traffic) -> None:
        super().__init__()
        self.traffic = traffic

    def sleep(self, seconds: float) -> None:
        self.traffic.wait(seconds)


@dataclass
class Between:
    """A client that lets changes happen after a read of rows or totals."""

    client: Any
    happens: Callable[[], None]

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.client, name)
        if name not in {"scan", "batch_get_item"}:
            return call

        def and_then(**arguments: Any) -> Any:
            response = call(**arguments)
            self.happens()
            return response

        return and_then


@pytest.fixture
def traffic(start: Callable[[Registry], LocalCloud]) -> Traffic:
    """Let a few orders be there, counted."""
    traffic = Traffic(start(REGISTRY))
    for number in range(12):
        traffic.put(number)
    traffic.put(20, status="PENDING")
    traffic.cloud.settle()
    return traffic


def item(cloud: LocalCloud) -> dict[str, Any]:
    return dict(cloud.clients.dynamodb.get_item(TableName=TOTALS, Key=PENDING)["Item"])


def change_by_hand(cloud: LocalCloud) -> None:
    cloud.clients.dynamodb.update_item(
        TableName=TOTALS,
        Key=PENDING,
        UpdateExpression="ADD #c :one",
        ExpressionAttributeNames={"#c": "count"},
        ExpressionAttributeValues={":one": {"N": "1"}},
    )


def delete_total(cloud: LocalCloud) -> None:
    cloud.clients.dynamodb.delete_item(TableName=TOTALS, Key=PENDING)


def extra_total(cloud: LocalCloud) -> None:
    extra: Any = {"PK": {"S": "DailySales.1#north"}, "SK": {"S": "1999-12-31"}, "count": {"N": "2"}}
    cloud.clients.dynamodb.put_item(TableName=TOTALS, Item=extra | {"revenue": {"N": "0.5"}})


def lose_a_record(cloud: LocalCloud) -> None:
    """Let the row of an order change, and its record never reach the totals."""
    dynamodb = cloud.clients.dynamodb
    before = dynamodb.scan(TableName=TOTALS)["Items"]
    dynamodb.delete_item(
        TableName=VIEW_TABLE, Key={"PK": {"S": "ORDER#20"}, "SK": {"S": "DETAILS"}}
    )
    cloud.settle()
    for old in before:
        dynamodb.put_item(TableName=TOTALS, Item=old)


PLANTED: dict[str, tuple[Callable[[LocalCloud], None], set[tuple[str, ...]]]] = {
    "changed by hand": (change_by_hand, {("OrdersByStatus", "PENDING")}),
    "deleted": (delete_total, {("OrdersByStatus", "PENDING")}),
    "extra": (extra_total, {("DailySales", "north", "1999-12-31")}),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_planted_drift_is_found(traffic: Traffic, kind: str) -> None:
    plant, expected = PLANTED[kind]
    traffic.writing = False
    assert traffic.verify()[0] == 0
    plant(traffic.cloud)
    status, report = traffic.verify()
    assert status == 1
    assert {(finding["total"], *finding["group"]) for finding in report["listed"]} == expected
    assert report["differing"] == 1
    assert report["totals"] == report["equal"] + report["differing"]


def test_a_lost_record_is_found_in_every_group_that_it_moved(traffic: Traffic) -> None:
    traffic.writing = False
    lose_a_record(traffic.cloud)
    status, report = traffic.verify()
    assert status == 1
    assert {finding["total"] for finding in report["listed"]} == {"OrdersByStatus", "DailySales"}
    (pending,) = (finding for finding in report["listed"] if finding["total"] == "OrdersByStatus")
    stored, expected = (int(pending[name].get("count", 0)) for name in ("stored", "expected"))
    assert stored == expected + 1


def test_the_command_says_what_differs_and_how_to_rebuild_it(traffic: Traffic) -> None:
    traffic.writing = False
    before = int(item(traffic.cloud)["count"]["N"])
    change_by_hand(traffic.cloud)
    status, output = traffic.command()
    assert status == 1
    lines = [" ".join(line.split()) for line in output.splitlines()]
    assert f"OrdersByStatus, epoch 1 PENDING count {before} count {before + 1}" in lines
    assert "1 total is not the sum of its rows" in lines
    assert "declare it with epoch=2, epoch_was=1" in output
    assert "`adminview model lock --reason …` and `adminview apply`" in output


@pytest.mark.parametrize("seed", range(2))
def test_changes_that_keep_arriving_are_no_drift(traffic: Traffic, seed: int) -> None:
    traffic.random = Random(seed)  # noqa: S311
    # With changes between the segments.
    status, report = traffic.verify(segments=8)
    assert (status, report["listed"]) == (0, [])
    assert report["totals"] == report["equal"] + report["in_flight"] + report["changing"]
    assert report["rows"] > 20
    traffic.writing = False
    traffic.cloud.settle()
    status, report = traffic.verify()
    assert (status, report["changing"], report["equal"]) == (0, 0, report["totals"])


@pytest.mark.parametrize("seed", range(2))
def test_drift_of_an_unchanged_total_is_found_while_others_change(
    traffic: Traffic, seed: int
) -> None:
    traffic.random = Random(seed)  # noqa: S311
    extra_total(traffic.cloud)
    status, report = traffic.verify(segments=8)
    assert status == 1
    assert [finding["group"] for finding in report["listed"]] == [["north", "1999-12-31"]]
    assert report["listed"][0]["stored"] == {"count": "2", "revenue": "0.5"}
    assert report["listed"][0]["expected"] == {}


def test_a_forgotten_empty_total_expires_after_a_repair(traffic: Traffic) -> None:
    traffic.writing = False
    forgotten: Any = {
        "PK": {"S": "OrdersByStatus.1"},
        "SK": {"S": "RETURNED"},
        "count": {"N": "0"},
        "@forgotten": {"B": b"\x01\x05" + int(OLD // 3600).to_bytes(3, "big")},
    }
    recent = forgotten | {
        "SK": {"S": "LOST"},
        "@forgotten": {"B": b"\x01\x05" + (0xFFFFFF).to_bytes(3, "big")},
    }
    dynamodb = traffic.cloud.clients.dynamodb
    for total in (forgotten, recent):
        dynamodb.put_item(TableName=TOTALS, Item=total)
    assert traffic.verify()[1]["forgotten"] == 1
    status, report = traffic.verify(repair=True)
    assert (status, report["forgotten"], report["repaired"]) == (0, 1, 1)
    stored: list[Any] = dynamodb.scan(TableName=TOTALS)["Items"]
    empty = {row["SK"]["S"]: "expires" in row for row in stored if row["count"] == {"N": "0"}}
    assert empty == {"RETURNED": True, "LOST": False}
    assert traffic.verify()[1]["forgotten"] == 0


def test_a_sample_compares_some_groups(traffic: Traffic) -> None:
    traffic.writing = False
    everything = traffic.verify()[1]["totals"]
    assert 0 <= traffic.verify(sample=0.5)[1]["totals"] < everything


def test_the_scheduled_verification_finds_drift_in_as_many_runs_as_its_units_take(
    traffic: Traffic,
) -> None:
    traffic.writing = False
    change_by_hand(traffic.cloud)
    cloud, heard, runs = traffic.cloud, HeardDrift(), 0
    dynamodb = cloud.clients.dynamodb

    def make(budget: RateLimiter) -> Bulk:
        return replace(bulk_of(cloud), client=Metered(dynamodb, budget, RateLimiter()))

    dependencies = VerifyDependencies(make, heard)
    finished = False
    while not finished:
        event = {"grace": 0.01, "totals_units": 0.1, "segments": 1}
        report = verify(event, Context(), dependencies)
        finished, runs = report["totals"]["finished"], runs + 1
        assert ("totals" in heard.reported) == finished
    counts, drift, trouble = heard.reported["totals"]
    assert (drift, trouble) == (1, "")
    assert counts["totals"] == counts["equal"] + 1
    if cloud.engine.name is EngineName.DYNAMODB_LOCAL:  # moto counts no capacity
        assert runs > 1


def test_an_abandoned_total_is_no_drift_and_expires_after_a_repair(traffic: Traffic) -> None:
    traffic.writing = False
    dynamodb = traffic.cloud.clients.dynamodb
    abandoned: Any = {"PK": {"S": "DailySales.7#north"}, "SK": {"S": "x"}, "count": {"N": "5"}}
    dynamodb.put_item(TableName=TOTALS, Item=abandoned)
    status, report = traffic.verify()
    assert (status, report["abandoned"], report["repaired"]) == (0, 1, 0)
    status, report = traffic.verify(repair=True)
    assert (status, report["abandoned"], report["repaired"]) == (0, 1, 1)
    key = {name: abandoned[name] for name in ("PK", "SK")}
    assert "expires" in dynamodb.get_item(TableName=TOTALS, Key=key)["Item"]
    assert traffic.verify()[1]["abandoned"] == 0
