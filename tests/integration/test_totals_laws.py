"""Law 8 on real engines: every total equals the sum of the contributions stored on the rows."""

from collections.abc import Callable, Iterator
from decimal import Context, Decimal
from random import Random
from typing import Any, cast

import pytest

from adminview.aws.attribute_codec import from_boto3
from adminview.aws.deadline import Deadline
from adminview.aws.totals_table import Boto3Updater, HttpUpdater, TotalsTable, Updater
from adminview.bulk.totals_probes import TotalsProbes
from adminview.local.engines import Engine, EngineName
from adminview.local.event_source.invocation import InvokedFunction, LambdaContext
from adminview.local.local_cloud import LocalCloud, direct_client_to
from adminview.local.tables import create, totals_table
from adminview.model import Registry
from adminview.model.errors import ServiceError
from adminview.model.item import to_python
from adminview.model.row import VIEW_TABLE
from adminview.model.total import totals_table as totals_name
from adminview.totals.archive import LEAST_MOVED, MOST_POSITIONS
from adminview.totals.changes import GroupChange
from adminview.totals.position import HOUR, MOST_EXPIRED, encode_position, position_name
from adminview.totals.update import GroupUpdate, upkeep
from tests.support import totals_views, totals_views_changed
from tests.support.backfill_workers import bulk_of, work
from tests.support.fakes import NO_WAIT
from tests.support.totals_items import TotalsItems
from tests.support.totals_records import AT, GROUP, SHARD, change, update

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


TABLE = "AdminViewTotals"


@pytest.fixture(params=["boto3", "direct"])
def updater(request: pytest.FixtureRequest, engine: Engine) -> Iterator[Updater]:
    """Create a totals table, and return both ways to update it in turn."""
    client = engine.dynamodb()
    create(client, totals_table(TABLE))
    yield (
        Boto3Updater(client) if request.param == "boto3" else HttpUpdater(direct_client_to(engine))
    )
    client.delete_table(TableName=TABLE)


def stored(engine: Engine) -> dict[tuple[str, str], dict[str, Any]]:
    items = engine.dynamodb().scan(TableName=TABLE, ConsistentRead=True)["Items"]
    return {(item["PK"]["S"], item["SK"]["S"]): from_boto3(item) for item in items}


def test_the_table_of_the_simulator_does_what_the_engine_does(
    engine: Engine, updater: Updater
) -> None:
    """Any updates, in any order, on one item: the same responses, refusals and items."""
    rng = Random(5)  # noqa: S311 - no secret
    items = TotalsItems()
    simulated = Boto3Updater(cast("Any", items))
    later = Deadline.after(600)
    for _ in range(60):
        first = rng.choice([1, 200, 10**20])
        changes = [
            GroupChange(
                first + number,
                AT + rng.choice([0, 50 * HOUR]),
                number,
                {
                    "count": Decimal(rng.randint(-1, 1)),
                    "a": rng.choice(AMOUNTS),
                },
            )
            for number in range(rng.randint(1, 3))
        ]
        group_update = GroupUpdate(GROUP, position_name(str(rng.randrange(12))), changes)
        [expected] = simulated.send([group_update.request(TABLE)], later)
        [result] = updater.send([group_update.request(TABLE)], later)
        assert _comparable(result) == _comparable(expected)
        if isinstance(result, dict):
            for call in upkeep(TABLE, group_update, result["Attributes"], AT):
                results = [sender.send([call], later)[0] for sender in (updater, simulated)]
                assert type(results[0]) is type(results[1])
        assert {key: _numbers(item) for key, item in stored(engine).items()} == {
            key: _numbers(from_boto3(item)) for key, item in items.items.items()
        }


def _comparable(result: Any) -> Any:
    if isinstance(result, dict):
        return _numbers(result["Attributes"])
    return result.response["Error"]["Code"], _numbers(result.response.get("Item", {}))


def _numbers(item: dict[str, Any]) -> dict[str, Any]:
    """Compare numbers as such: moto does not normalize their text."""
    return {name: Decimal(value["N"]) if "N" in value else value for name, value in item.items()}


def test_sums_of_38_digits_are_exact_and_more_are_refused(engine: Engine, updater: Updater) -> None:
    table = TotalsTable(updater, TABLE, lambda: AT)
    later = Deadline.after(60)
    table.apply([update(change(1, a="9" * 29))], later)
    table.apply([update(change(2, a="0." + "9" * 9))], later)
    assert stored(engine)[GROUP]["a"] == {"N": "9" * 29 + "." + "9" * 9}
    if engine.name == EngineName.MOTO:
        return  # it rounds
    outcome = table.apply([update(change(3, a="1E-10"), change(4, a=-1))], later)
    assert (outcome.refused, outcome.updates) == (1, 1)
    assert stored(engine)[GROUP]["a"] == {"N": "9" * 28 + "8." + "9" * 9}
    assert stored(engine)[GROUP]["count"] == {"N": "3"}


def test_a_hostile_change_is_refused_by_the_engine_and_skipped(
    engine: Engine, updater: Updater
) -> None:
    """No contribution can hold such a name, but if one did, it would block no shard."""
    table = TotalsTable(updater, TABLE, lambda: AT)
    outcome = table.apply([update(change(1), change(2, PK=1), change(3))], Deadline.after(60))
    assert outcome.refused == 1
    assert stored(engine)[GROUP]["count"] == {"N": "2"}


OTHER_KEY = [("partition", "HASH"), ("sort", "RANGE")]
OTHER_TYPE = [("PK", "HASH"), ("SK", "RANGE")]


@pytest.mark.parametrize(("names", "kind"), [(OTHER_KEY, "S"), (OTHER_TYPE, "N")])
@pytest.mark.parametrize("client_kind", ["boto3", "direct"])
def test_a_table_with_another_key_blocks_the_stream_and_skips_nothing(
    engine: Engine, names: list[tuple[str, Any]], kind: Any, client_kind: str
) -> None:
    client, name = engine.dynamodb(), "NotTotals"
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": key, "KeyType": role} for key, role in names],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": kind} for key, _ in names],
        BillingMode="PAY_PER_REQUEST",
    )
    updater = (
        Boto3Updater(client) if client_kind == "boto3" else HttpUpdater(direct_client_to(engine))
    )
    table = TotalsTable(updater, name, lambda: AT)
    try:
        with pytest.raises(ServiceError, match="refuses every update"):
            table.apply([update(change(1), change(2))], Deadline.after(60))
        assert client.scan(TableName=name)["Count"] == 0
    finally:
        client.delete_table(TableName=name)


def test_old_positions_are_removed_and_an_empty_total_expires(
    engine: Engine, updater: Updater
) -> None:
    table = TotalsTable(updater, TABLE, lambda: AT)
    later = Deadline.after(60)
    for number in range(MOST_EXPIRED):
        old = change(5, at=AT - 48 * HOUR)
        table.apply([update(old, shard=position_name(f"old-{number}"))], later)
    table.apply([update(change(9, -MOST_EXPIRED))], later)
    item = stored(engine)[GROUP]
    assert {name for name in item if name[0] == "@"} == {SHARD}
    assert item[SHARD] == encode_position(9, AT)
    assert item["count"] == {"N": "0"}
    assert int(item["expires"]["N"]) > AT + 26 * HOUR
    table.apply([update(change(10))], later)
    assert "expires" not in stored(engine)[GROUP]


def test_old_positions_are_archived_and_what_they_cover_is_not_added_again(
    engine: Engine, updater: Updater
) -> None:
    table = TotalsTable(updater, TABLE, lambda: AT)
    later = Deadline.after(60)
    shards = [position_name(f"old-{number}") for number in range(MOST_POSITIONS + LEAST_MOVED)]
    old = [update(change(5, at=AT - 2 * HOUR), shard=shard) for shard in shards]
    for position in old:
        table.apply([position], later)
    table.apply([update(change(9))], later)
    assert {name for name in stored(engine)[GROUP] if name[0] == "@"} == {SHARD}
    assert len(stored(engine)) == 2, "the total and its archive"
    assert table.apply([old[3]], later).covered == 1
    more = update(*(change(n, at=AT - 2 * HOUR) for n in (5, 6)), shard=shards[3])
    assert table.apply([more], later).updates == 1
    assert table.apply([more], later).covered == 1
    assert stored(engine)[GROUP]["count"] == {"N": str(len(shards) + 2)}
    for position in old:
        assert table.apply([position], later).updates == 0


def test_a_position_is_compared_by_the_engine_as_a_number(engine: Engine, updater: Updater) -> None:
    table = TotalsTable(updater, TABLE, lambda: AT)
    later = Deadline.after(60)
    for number in (9, 10, 255, 256, 10**20 - 1, 10**20, 10**21, 10**40):
        assert table.apply([update(change(number))], later).updates == 1
        assert table.apply([update(change(number))], later).covered == 1
        assert table.apply([update(change(number - 1))], later).covered == 1
    assert stored(engine)[GROUP]["count"] == {"N": "8"}
