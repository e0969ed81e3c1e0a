"""The simulator's tables return and accept what DynamoDB may return and accepts."""

from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from adminview.aws.deadline import LONGEST_CALL
from tests.simulator.choices import Choices
from tests.simulator.model import NAMES, State
from tests.simulator.past import STALE_SECONDS, Past
from tests.simulator.progress import PROGRESS
from tests.simulator.simulation import World
from tests.support.fakes import TABLE

ONE = State(0, {"A": 0})


def within(world: World, work: Any, name: str = "somebody") -> Any:
    """Let a fiber do some work, and say what came of it."""
    fiber = world.fibers.spawn(name, work)
    world.fibers.run()
    return fiber.result


@pytest.fixture
def world() -> World:
    """Begin with a tame world that has all items."""
    world = World(Choices())
    for name in NAMES:
        world.sources[name.source.name].begin_with(name, ONE)
        world.view.put(_row(name.owner, name.id))
    return world


def _row(owner: str, sort: str) -> dict[str, Any]:
    value = {"M": {"value": {"N": "0"}}}
    model = {"S": "model-1" if sort == "a" else "model-0"}
    return {
        "PK": {"S": owner},
        "SK": {"S": sort},
        "_owner": {"S": owner},
        "data": value,
        "_model": model,
    }


def scan(world: World, table: str, of: int, **request: Any) -> list[Any]:
    """Read all pages of all segments, an item at a time."""

    def pages() -> list[Any]:
        items = []
        for segment in range(of):
            start: dict[str, Any] = {}
            while True:
                page = world.dynamodb.scan(
                    table, 1, Segment=segment, TotalSegments=of, **start, **request
                )
                items += page["Items"]
                if "LastEvaluatedKey" not in page:
                    break
                start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
        return items

    scanned: list[Any] = within(world, pages)
    return scanned


@pytest.mark.parametrize("of", [1, 2, 5])
def test_the_segments_of_a_scan_have_each_item_once(world: World, of: int) -> None:
    assert sorted(item["id"]["S"] for item in scan(world, "Things", of)) == ["a", "b"]
    assert len(scan(world, TABLE, of)) == len(NAMES)


def test_a_scan_leaves_out_what_its_filter_does_not_want(world: World) -> None:
    request = {
        "FilterExpression": "#model <> :model",
        "ExpressionAttributeValues": {":model": {"S": "model-1"}},
    }
    assert [row["SK"]["S"] for row in scan(world, TABLE, 2, **request)] == ["b"]


def test_what_was_can_be_seen_for_a_moment(world: World) -> None:
    past = Past(world.fibers)
    past.note("key", "first")
    world.fibers.now += STALE_SECONDS / 2
    past.note("key", "second")
    assert past.of("key") == ["second", "first"]
    world.fibers.now += STALE_SECONDS * 0.75
    assert past.of("key") == ["second"]
    past.settle()
    assert past.of("key") == []
    assert past.keys == {"key"}


def test_a_record_is_written_only_as_it_was_read(world: World) -> None:
    key = {"PK": {"S": "backfill/Things"}, "SK": {"S": "000000"}}
    item = {**key, "version": {"N": "1"}, "holder": {"S": "me"}, "state": {"S": '{"intent": []}'}}
    absent = {"ConditionExpression": "attribute_not_exists(#pk)"}
    mine = {
        "ConditionExpression": "#version = :version AND #holder = :holder",
        "ExpressionAttributeNames": {"#version": "version", "#holder": "holder"},
        "ExpressionAttributeValues": {":version": {"N": "1"}, ":holder": {"S": "me"}},
    }
    within(world, lambda: world.dynamodb.put_item(PROGRESS, item, **absent))
    within(world, lambda: world.dynamodb.put_item(PROGRESS, item, **mine))
    another = {**item, "holder": {"S": "another"}}
    within(world, lambda: world.dynamodb.put_item(PROGRESS, another, **mine))
    for condition in (absent, mine):
        with pytest.raises(ClientError):
            within(
                world,
                lambda condition=condition: world.dynamodb.put_item(PROGRESS, item, **condition),
            )
        with pytest.raises(ClientError):
            within(
                world,
                lambda condition=condition: world.dynamodb.delete_item(PROGRESS, key, **condition),
            )


def test_a_call_of_a_worker_that_took_too_long_never_takes_effect(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def call() -> None:
        world.calls.make("PutItem", lambda _: done.append(world.fibers.current.name))

    def pass_time() -> None:
        world.fibers.now += LONGEST_CALL + 1

    monkeypatch.setattr(world.fibers, "pause", pass_time)
    within(world, call, "operator")
    with pytest.raises(ReadTimeoutError):
        within(world, call, "bulk sweep/* 0")
    assert done == ["operator"]
