"""Law 8 on real engines: every total equals the sum of the contributions stored on the rows."""

from collections.abc import Callable
from decimal import Context, Decimal
from random import Random
from typing import Any

import pytest

from adminview.bulk.totals_probes import TotalsProbes
from adminview.local.engines import Engine
from adminview.local.event_source.invocation import InvokedFunction, LambdaContext
from adminview.local.local_cloud import LocalCloud
from adminview.model import Registry
from adminview.model.item import to_python
from adminview.model.row import VIEW_TABLE
from adminview.model.total import totals_table as totals_name
from tests.support import totals_views, totals_views_changed
from tests.support.backfill_workers import bulk_of, work
from tests.support.fakes import NO_WAIT
from tests.support.totals_records import AT

REGISTRY = Registry.of([totals_views])
CHANGED = Registry.of([totals_views_changed])
EXACT = Context(prec=60)
STATUSES = ("PENDING", "PAID", "SHIPPED")
AMOUNTS = (Decimal(1), Decimal("0.1"), Decimal(-7), Decimal("99999999999999999999.999999999"))
Amounts = dict[tuple[str, str], dict[str, Decimal]]


def contributed(cloud: LocalCloud) -> Amounts:
    """Add up what the rows store, apart from the code under test."""
    total: Amounts = {}
    for row in cloud.rows():
        for partition, sorts in row.get("_totals", {"M": {}})["M"].items():
            for sort, content in sorts["M"].items():
                amounts = total.setdefault((partition, sort), {})
                for name, value in {"count": {"N": "1"}, **content["M"]}.items():
                    amounts[name] = EXACT.add(amounts.get(name, Decimal()), Decimal(value["N"]))
    return total


def kept(cloud: LocalCloud) -> Amounts:
    """Read the totals table: all amounts that are not zero."""
    pages = cloud.clients.dynamodb.get_paginator("scan").paginate(TableName=totals_name(VIEW_TABLE))
    totals: Amounts = {}
    for item in (item for page in pages for item in page["Items"]):
        amounts = {name: Decimal(value["N"]) for name, value in item.items() if "N" in value}
        amounts.pop("expires", None)
        if any(amounts.values()):
            totals[item["PK"]["S"], item["SK"]["S"]] = amounts
    return totals


def check(cloud: LocalCloud) -> None:
    """See that each total is the sum of its rows."""

    def nonzero(totals: Amounts) -> Amounts:
        return {key: {n: a for n, a in amounts.items() if a} for key, amounts in totals.items()}

    assert nonzero(kept(cloud)) == nonzero(contributed(cloud))


class Redelivery:
    """Remembers what the totals function was given, and gives it some of that again."""

    def __init__(self, cloud: LocalCloud, rng: Random) -> None:
        assert cloud.totals
        self._handler = cloud.totals.handler
        self._rng = rng
        self._shards: dict[str, list[Any]] = {}
        cloud.totals.handler = self.handle

    def handle(self, event: dict[str, Any], context: Any) -> Any:
        """Handle an event, now and then with old records before its own, or as one that dies."""
        records = self._shards.setdefault(event["shardId"], [])
        known = [record["eventID"] for record in records]
        new = [record for record in event["Records"] if record["eventID"] not in known]
        before = records[-self._rng.randint(1, 5) :] if self._rng.random() < 0.5 else []
        if new == event["Records"]:
            event = event | {"Records": before + new}
        records += new
        answer = self._handler(event, context)
        if event["Records"] and self._rng.random() < 0.2:
            msg = "killed after its last call"
            raise RuntimeError(msg)
        return answer

    def some(self) -> None:
        """Deliver any range of any shard again, cut as no batch was."""
        for shard, records in self._shards.items():
            if not records:
                continue
            start = self._rng.randrange(len(records))
            end = self._rng.randint(start + 1, len(records))
            context = LambdaContext.of(InvokedFunction(self._handler), lambda: AT)
            event = {"Records": records[start:end], "shardId": shard, "state": {}}
            answer = self._handler(event, context)
            assert answer == {"state": {}, "batchItemFailures": []}


@pytest.fixture
def cloud(start: Callable[[Registry], LocalCloud]) -> LocalCloud:
    return start(REGISTRY)


def put(cloud: LocalCloud, rng: Random, number: int) -> None:
    lines = {
        product: {"units": rng.randint(0, 3), "revenue": rng.choice(AMOUNTS)}
        for product in rng.sample(["eggs", "a#b", "a%23b"], rng.randint(0, 2))
    }
    item = {
        "id": str(number),
        "status": rng.choice(STATUSES),
        "shop": rng.choice(["north", "so#uth", "ü"]),
        "day": f"2025-03-0{rng.randint(1, 3)}",
        "total": rng.choice(AMOUNTS),
        "lines": lines,
        "note": str(rng.random()),
    }
    cloud.put("Orders", item)


@pytest.mark.parametrize("seed", range(4))
def test_totals_are_exact_after_any_changes_and_redeliveries(cloud: LocalCloud, seed: int) -> None:
    rng = Random(seed)  # noqa: S311 - no secret
    redelivery = Redelivery(cloud, rng)
    for _ in range(8):
        for _ in range(rng.randint(1, 12)):
            number = rng.randrange(8)
            if rng.random() < 0.3:
                cloud.delete("Orders", {"id": str(number)})
            else:
                put(cloud, rng, number)
        cloud.settle()
        check(cloud)
        redelivery.some()
        check(cloud)
    answered = {
        row["data"]["M"]["status"]["S"]: int(row["data"]["M"]["count"]["N"])
        for row in cloud.query("orders-per-status")
    }
    counts = {
        sort: int(amounts["count"])
        for (partition, sort), amounts in contributed(cloud).items()
        if partition == "OrdersByStatus.1"
    }
    assert answered == counts


def test_totals_are_exact_when_every_row_is_gone_and_when_they_return(cloud: LocalCloud) -> None:
    rng = Random(1)  # noqa: S311 - no secret
    redelivery = Redelivery(cloud, rng)
    for _ in range(2):
        for number in range(6):
            put(cloud, rng, number)
        cloud.settle()
        check(cloud)
        assert contributed(cloud)
        for number in range(6):
            cloud.delete("Orders", {"id": str(number)})
        cloud.settle()
        redelivery.some()
        assert kept(cloud) == {} == contributed(cloud)


def test_totals_are_exact_while_and_after_the_model_changes(cloud: LocalCloud) -> None:
    rng = Random(2)  # noqa: S311 - no secret
    redelivery = Redelivery(cloud, rng)
    for number in range(10):
        put(cloud, rng, number)
    cloud.settle()
    cloud.deploy(CHANGED)
    put(cloud, rng, 3)  # written by the new model while the others are of the old one
    cloud.delete("Orders", {"id": "4"})
    cloud.settle()
    check(cloud)

    assert work(bulk_of(cloud), "backfill/Orders", 1).finished
    redelivery.some()
    cloud.settle()
    check(cloud)
    names = {partition.partition("#")[0] for partition, _ in kept(cloud)}
    assert names == {"OrdersByStatus.1", "OrdersByStatus.2", "DailySales.1"}
    both = [
        {sort: amounts for (partition, sort), amounts in kept(cloud).items() if partition == name}
        for name in ("OrdersByStatus.1", "OrdersByStatus.2")
    ]
    assert both[0] == both[1]
    shown = [to_python(row["data"]) for row in cloud.query("best-days", shop="north")]
    assert shown == sorted(shown, key=lambda row: row["orders"])

    cloud.deploy(REGISTRY)
    assert work(bulk_of(cloud, later=1000), "backfill/Orders", 1).finished
    cloud.settle()
    redelivery.some()
    check(cloud)
    assert not any(partition == "OrdersByStatus.2" for partition, _ in kept(cloud))


def test_probes_arrive_after_all_earlier_changes_and_leave_nothing(
    cloud: LocalCloud, engine: Engine
) -> None:
    """They are what a plan waits for before queries return totals."""
    rng = Random(3)  # noqa: S311 - no secret
    for number in range(20):
        put(cloud, rng, number)
    for source in cloud.sources:
        source.drain()
    probes = TotalsProbes(cloud.clients.dynamodb, engine.streams(), VIEW_TABLE, NO_WAIT)
    assert not probes.have_arrived()
    assert not probes.have_arrived()
    assert kept(cloud) == {}
    assert not any(row["PK"]["S"].startswith("~") for row in cloud.rows())
    assert cloud.totals
    cloud.totals.drain()
    assert probes.have_arrived()
    assert kept(cloud)
    check(cloud)
