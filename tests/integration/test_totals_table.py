"""The calls of the totals function on real engines: what each does, and when it is refused."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from random import Random
from typing import Any, cast

import pytest

from adminview.aws.attribute_codec import for_boto3, from_boto3
from adminview.aws.deadline import Deadline
from adminview.aws.retry import error_code
from adminview.aws.totals_table import Boto3Updater, HttpUpdater, TotalsTable, Updater
from adminview.handlers.totals import TotalsRuntime, add_up
from adminview.local.engines import Engine, EngineName
from adminview.local.event_source.invocation import InvokedFunction, LambdaContext
from adminview.local.local_cloud import direct_client_to
from adminview.local.tables import create, totals_table
from adminview.model.errors import ServiceError
from adminview.model.item import AttributeValue
from adminview.model.total import ARCHIVED
from adminview.totals.archive import (
    LEAST_MOVED,
    MOST_POSITIONS,
    RANDOM_BYTES,
    archive_key,
    open_archive,
    remove_moved,
    store,
)
from adminview.totals.changes import GroupChange
from adminview.totals.position import (
    HOUR,
    MOST_EXPIRED,
    encode_position,
    position_name,
    positions_of,
)
from adminview.totals.update import GroupUpdate, key_of_group, upkeep
from tests.support.fakes import NO_WAIT
from tests.support.totals_items import TotalsItems
from tests.support.totals_records import (
    AT,
    GROUP,
    SHARD,
    added,
    change,
    event,
    removed,
    update,
)

AMOUNTS = (Decimal(1), Decimal("0.1"), Decimal(-7), Decimal("99999999999999999999.999999999"))
TABLE = "AdminViewTotals"


@pytest.fixture
def totals(engine: Engine) -> Iterator[Engine]:
    """Create a totals table."""
    client = engine.dynamodb()
    create(client, totals_table(TABLE))
    yield engine
    client.delete_table(TableName=TABLE)


@pytest.fixture(params=["boto3", "direct"])
def updater(request: pytest.FixtureRequest, totals: Engine) -> Updater:
    """Return both ways to update the totals table in turn."""
    if request.param == "boto3":
        return Boto3Updater(totals.dynamodb())
    return HttpUpdater(direct_client_to(totals))


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


def _outcome(result: Any) -> str:
    return "taken" if isinstance(result, dict) else error_code(result)


def _comparable(result: Any) -> Any:
    if isinstance(result, dict):
        return _numbers(result["Attributes"])
    return result.response["Error"]["Code"], _numbers(result.response.get("Item", {}))


def _numbers(item: dict[str, Any]) -> dict[str, Any]:
    """Compare numbers as such: moto does not normalize their text."""
    return {name: Decimal(value["N"]) if "N" in value else value for name, value in item.items()}


def test_the_archive_of_the_simulator_does_what_the_engine_does(
    engine: Engine, updater: Updater
) -> None:
    """Moves that were read before other moves: the same refusals, totals and archives."""
    rng = Random(6)  # noqa: S311 - no secret
    items = TotalsItems()
    senders = updater, Boto3Updater(cast("Any", items))
    later = Deadline.after(600)
    archive_of_group = tuple(value["S"] for value in archive_key(GROUP).values())
    seen: list[tuple[dict[str, Any], dict[str, Any]]] = []
    marks: list[AttributeValue] = []
    taken = {"update": 0, "store": 0, "remove": 0}
    refused = dict(taken)

    def send(call: dict[str, Any], kind: str = "") -> None:
        results = [sender.send([call], later)[0] for sender in senders]
        assert _outcome(results[0]) == _outcome(results[1])
        if kind:
            counts = taken if isinstance(results[0], dict) else refused
            counts[kind] += 1

    for number in range(60):
        at = AT - rng.choice([0, 1, 2, 50]) * HOUR
        mark = rng.choice(marks[-2:]) if marks and rng.random() < 0.5 else None
        shard = position_name(str(rng.randrange(8)))
        send(GroupUpdate(GROUP, shard, [change(number, at=at)], mark).request(TABLE), "update")
        send(open_archive(TABLE, GROUP, AT))
        seen.append((from_boto3(items.items[GROUP]), from_boto3(items.items[archive_of_group])))
        total, archive = rng.choice(seen[-3:])
        positions = positions_of(total)
        moved = {name: positions[name] for name in rng.sample([*positions], len(positions) // 2)}
        if not moved:
            continue
        random = number.to_bytes(RANDOM_BYTES, "big")
        send(store(TABLE, archive, moved, at=AT, now=AT, version=random), "store")
        if rng.random() < 0.7:
            send(remove_moved(TABLE, total, moved, random), "remove")
        marks += [from_boto3(item)[ARCHIVED] for item in [items.items[GROUP]] if ARCHIVED in item]
        assert {key: _numbers(item) for key, item in stored(engine).items()} == {
            key: _numbers(from_boto3(item)) for key, item in items.items.items()
        }
    assert all([*taken.values(), *refused.values()]), (taken, refused)


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


class KilledError(Exception):
    """The function was killed."""


class Interrupted:
    """Sends calls one after the other, until something happens to one of them."""

    def __init__(
        self, updater: Updater, number: int, event: str, other: Callable[[], None]
    ) -> None:
        self._updater = updater
        self._number = number  # of the call
        self._event = event
        self._other = other  # what another function does on the same shards meanwhile
        self.calls = 0
        self.late: list[Any] = []  # calls that have not arrived yet

    def send(self, requests: Sequence[Any], deadline: Deadline) -> list[Any]:
        return [self._send(request, deadline) for request in requests]

    def _send(self, request: Any, deadline: Deadline) -> Any:
        self.calls += 1
        happens = self._event if self.calls == self._number else ""
        if happens == "another function is faster":
            self._other()
        elif happens == "the call arrives late":
            self.late.append(request)
        if happens in {"killed before it", "the call arrives late"}:
            raise KilledError
        if happens == "it is not sent":
            return None
        (result,) = self._updater.send([request], deadline)
        if happens == "killed after it":
            raise KilledError
        return result


class Silent:
    def invoked(self, request_id: str) -> None: ...

    def counted(self, *_: Any) -> None: ...


def deliver(updater: Updater, *events: dict[str, Any]) -> None:
    """Invoke the totals function for each event."""
    runtime = TotalsRuntime(TotalsTable(updater, TABLE, lambda: AT, NO_WAIT), Silent())
    for content in events:
        context = LambdaContext.of(InvokedFunction(lambda *_: None), lambda: AT)
        assert add_up(content, context, runtime) == {"state": {}, "batchItemFailures": []}


@pytest.mark.parametrize(
    "happens",
    [
        "killed before it",
        "killed after it",
        "the call arrives late",
        "another function is faster",
        "it is not sent",
    ],
)
def test_whatever_happens_at_any_call_each_record_counts_once(totals: Engine, happens: str) -> None:
    """Two records are new, one comes again, and the positions of closed shards are archived."""
    shards = [f"old-{number}" for number in range(MOST_POSITIONS + LEAST_MOVED)]
    earlier = AT - 2 * HOUR
    client, updater = totals.dynamodb(), HttpUpdater(direct_client_to(totals))
    number, was_reached = 0, True
    while was_reached:
        number += 1
        busy, empty = (f"Sales.1#busy-{number}", "2025"), (f"Sales.1#empty-{number}", "2025")
        item = {
            **key_of_group(busy),
            "count": {"N": str(len(shards))},
            "a": {"N": "0"},
            **{position_name(shard): encode_position(5, earlier) for shard in shards},
        }
        client.put_item(TableName=TABLE, Item=for_boto3(item))
        tenth = {busy: {"a": "0.1"}}
        new = [added(9, {empty: {}}), added(10, tenth), removed(11, {empty: {}}), added(12, tenth)]
        old = [added(5, tenth, earlier), added(6, tenth, earlier)]
        last = added(13, {**tenth, empty: {}})
        recut = (
            event(*new[:2]),
            event(*old, shard=shards[3]),
            event(*new[1:], last),
            event(old[1], shard=shards[3]),
        )
        interrupted = Interrupted(updater, number, happens, lambda: deliver(updater, *recut))  # noqa: B023
        with suppress(KilledError):
            deliver(interrupted, event(*new), event(*old, shard=shards[3]))
        deliver(updater, *recut)
        updater.send(interrupted.late, Deadline.after(60))
        deliver(updater, event(*old, shard=shards[3]), event(*new, last))
        deliver(updater, *(event(old[0], shard=shard) for shard in shards[:3]))
        counted, refilled = (
            client.get_item(TableName=TABLE, Key=key_of_group(group))["Item"]
            for group in (busy, empty)
        )
        assert counted["count"] == {"N": str(len(shards) + 4)}, number
        assert Decimal(counted["a"]["N"]) == Decimal("0.4"), number
        assert refilled["count"] == {"N": "1"}, number
        assert "expires" not in refilled, number
        was_reached = interrupted.calls >= number
    assert number > 9, "two updates, an expiry, a move of three calls, and three of a late record"
