"""A worker on one segment: killed at any moment, replaced by another, or refused by AWS."""

from itertools import combinations_with_replacement, pairwise
from typing import Any

import pytest

from adminview.aws.deadline import Deadline
from adminview.aws.rate_limit import RateLimiter
from adminview.bulk import worker as worker_module
from adminview.bulk.lease_table import LEASE_SECONDS, WORK_SECONDS
from adminview.bulk.segment import Segment
from adminview.bulk.worker import ALIVE_SECONDS, PAGE_RESERVE
from adminview.model.errors import SegmentTakenError, ServiceError, TooManyFailuresError
from tests.support.bulk_tables import (
    PROGRESS,
    RUN,
    KilledError,
    World,
    at_call,
    dies_from,
    each,
    never,
)
from tests.support.fakes import TABLE, refusal

SEGMENT = Segment(RUN, 0, 1)


def make_world(items: int = 5, most: int = 2) -> World:
    world = World(most=most)
    for number in range(items):
        world.put(f"t{number}", x=str(number), y="1")
    return world


def states(world: World) -> list[tuple[list[Any], Any, bool]]:
    """List what the record had each time that it was written."""
    recorded: list[tuple[list[Any], Any, bool]] = []
    saved = world.db.put_item

    def put_item(TableName: str, Item: Any, **request: Any) -> Any:  # noqa: N803 - boto3's
        answer = saved(TableName, Item, **request)
        if TableName == PROGRESS:
            (record,) = world.records()
            recorded.append((record.intent, record.start, record.done))
        return answer

    world.db.put_item = put_item  # type: ignore[method-assign]
    return recorded


def test_the_intent_precedes_the_write_of_a_page_and_the_next_intent_moves_the_checkpoint() -> None:
    world = make_world(items=5, most=2)
    recorded = states(world)
    world.work()
    ids = [[key["id"]["S"] for key in intent] for intent, _, _ in recorded]
    assert ids == [[], ["t0", "t1"], ["t2", "t3"], ["t4"], []]
    starts = [start and start["id"]["S"] for _, start, _ in recorded]
    assert starts == [None, None, "t1", "t3", None]
    assert [done for _, _, done in recorded] == [False] * 4 + [True]
    writes = world.db.written(PROGRESS, TABLE)
    intent, written = ("put_item", PROGRESS), ("batch_write_item", TABLE)
    assert writes == [intent, intent, written, intent, written, intent, written, intent]


def test_pages_without_a_change_are_not_written_down_but_for_a_sign_of_life() -> None:
    world = make_world(items=40, most=2)
    world.run()
    world.db.tables[PROGRESS].clear()
    world.db.calls.clear()
    world.work(watch=lambda _: world.sleep(ALIVE_SECONDS / 5))
    assert world.db.written(TABLE) == []
    assert len(world.db.written(PROGRESS)) == 2 + 20 // 6  # begun, ended, and one in six pages


@pytest.mark.parametrize("lost", ["before", "after"])
def test_killed_at_any_call_while_items_go_at_any_other_the_end_is_right(lost: str) -> None:
    """The sync follows at once, so that what the worker writes afterwards is stale."""
    killed = 0
    for gone_at, killed_at in combinations_with_replacement(range(30), 2):
        world = make_world(items=4, most=2)

        def change(world: World = world) -> None:
            for id_ in ("t0", "t2"):
                world.delete(id_)
                world.sync(id_)
            world.put("t1", z="new")
            world.sync("t1")

        changes, kills = at_call(gone_at, change), dies_from(killed_at)
        if lost == "before":
            world.db.on(before=each(changes, kills))
        else:
            world.db.on(before=changes, after=kills)
        try:
            world.run()
        except KilledError:
            killed += 1
            world.db.on()
            world.delete("t3")
            world.sync("t3")
            world.later()
            assert world.run() is not None
        world.db.on()
        assert world.shown() == world.expected(), (gone_at, killed_at)
        assert world.records() == []
    assert killed > 200


def test_a_segment_leased_by_another_worker_is_refused_with_the_seconds_left() -> None:
    world = make_world()
    world.db.on(before=dies_from(4))
    with pytest.raises(KilledError):
        world.work()
    world.db.on()
    world.now += 30
    with pytest.raises(SegmentTakenError, match="lease expires in 150 seconds") as caught:
        world.work()
    assert caught.value.seconds == LEASE_SECONDS - 30
    world.now += 150.1
    assert world.work().done


def test_a_worker_that_has_lost_its_segment_never_writes_again() -> None:
    world = make_world(items=6, most=2)

    def lose(name: str, table: str) -> None:
        if (name, table) == ("scan", "Things"):
            world.db.on()
            world.later()
            world.progress.take(SEGMENT, world.fingerprint, deadline=never())
            world.db.calls.clear()

    world.db.on(before=lose)
    with pytest.raises(SegmentTakenError):
        world.work()
    assert world.db.written(TABLE) == []
    assert len(world.db.written(PROGRESS)) == 1  # which failed
    (record,) = world.records()
    assert record.version == 2


def test_a_slow_write_of_the_intent_leaves_no_time_for_the_page() -> None:
    """The lease was asked for long ago when the table took it: another may have the segment."""
    world = make_world()

    def slow(name: str, table: str) -> None:
        if (name, table) == ("put_item", PROGRESS) and world.db.calls.count((name, table)) == 2:
            world.now += WORK_SECONDS + 1

    world.db.on(before=slow)
    with pytest.raises(ServiceError, match="write rows of AdminViewTable: AWS answered OutOfTime"):
        world.work()
    assert world.db.written(TABLE) == []
    assert world.records()[0].intent


def test_to_take_a_segment_slowly_is_not_to_have_it_for_longer() -> None:
    world = make_world()
    with pytest.raises(KilledError):
        _killed_at_its_first_write(world)
    world.later()

    def slow(name: str, table: str) -> None:
        if (name, table) == ("put_item", PROGRESS):
            world.db.on()
            world.now += WORK_SECONDS + 1

    world.db.on(before=slow)
    world.db.calls.clear()
    with pytest.raises(ServiceError, match="OutOfTime"):
        world.work()
    assert world.db.written(TABLE) == []


def _killed_at_its_first_write(world: World) -> None:
    def kill(_: str, table: str) -> None:
        if table == TABLE and world.db.calls[-1][0] == "batch_write_item":
            raise KilledError

    world.db.on(after=kill)
    try:
        world.work()
    finally:
        world.db.on()


def test_an_answer_that_is_lost_is_no_loss() -> None:
    for lost in range(6):
        world = make_world()
        saves = iter(range(100))

        def lose(name: str, table: str, lost: int = lost, saves: Any = saves) -> None:
            if (name, table) == ("put_item", PROGRESS) and next(saves) == lost:
                raise refusal("InternalServerError", status=500)

        world.db.on(after=lose)
        assert world.work().done
        assert world.shown() == world.expected()


@pytest.mark.parametrize(
    ("call", "table", "left_at_once"),
    [
        ("scan", "Things", True),
        ("batch_get_item", TABLE, True),
        ("batch_write_item", TABLE, False),
        ("batch_get_item", "Things", False),
    ],
)
def test_when_aws_refuses_the_segment_is_free_at_once_only_without_a_page_in_progress(
    call: str, table: str, *, left_at_once: bool
) -> None:
    world = make_world(items=6, most=2)

    def refuse(*request: str) -> None:
        if request == (call, table) and world.db.calls.count(request) == 2:
            raise refusal("AccessDeniedException")

    world.db.on(before=refuse)
    with pytest.raises(ServiceError, match="AccessDeniedException"):
        world.work()
    (record,) = world.records()
    assert record.counts["items"] == 2  # what is in progress is not counted
    assert bool(record.intent) is not left_at_once
    world.db.on()
    if not left_at_once:
        with pytest.raises(SegmentTakenError):
            world.work()
        world.later()
    assert world.work().done
    assert world.shown() == world.expected()


def test_the_first_error_is_reported_though_the_lease_cannot_be_released() -> None:
    world = make_world()

    def refuse(name: str, _: str) -> None:
        if name == "scan" or (name == "put_item" and ("scan", "Things") in world.db.calls):
            raise refusal("AccessDeniedException")

    world.db.on(before=refuse)
    with pytest.raises(ServiceError, match="scan Things"):
        world.work()


def test_failing_items_are_tolerated_up_to_a_limit_and_then_all_stops() -> None:
    world = World(most=2)
    for number in range(10):
        world.write("Things", {"id": f"bad{number}"})
    assert world.work(tolerated=10).counts["failed"] == 10
    world.db.tables[PROGRESS].clear()
    with pytest.raises(TooManyFailuresError, match="4 items failed in backfill/Things"):
        world.work(tolerated=3)
    (record,) = world.records()
    assert record.deadline == 0.0, "others may go on"
    assert record.counts["items"] == 4
    assert world.work(tolerated=10).done


def test_it_stops_on_request_and_begins_no_page_that_it_could_not_end() -> None:
    world = make_world(items=6, most=2)
    stopped = world.work(stopped=lambda: bool(world.view))
    assert (stopped.done, stopped.counts["items"]) == (False, 2)
    ends = Deadline.after(PAGE_RESERVE + 1, lambda: world.now)

    def slow(_: Any) -> None:
        world.now += 2

    (record,) = world.records()
    assert record.deadline == 0.0
    late = world.worker(watch=slow).work(SEGMENT, end=ends)
    assert (late.done, late.counts["items"]) == (False, 4)
    assert world.work().done
    assert world.shown() == world.expected()


def test_a_note_too_large_makes_smaller_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_world(items=20, most=16)
    monkeypatch.setattr(worker_module, "INTENT_LIMIT", 100)  # bytes: of five keys
    recorded = states(world)
    world.work()
    assert max(len(intent) for intent, _, _ in recorded) == 4
    assert world.shown() == world.expected()
    world = make_world(items=3)
    monkeypatch.setattr(worker_module, "INTENT_LIMIT", 1)
    assert world.work().done, "one item is always taken"


@pytest.mark.parametrize(
    ("per_second", "pages"),
    [
        (None, [250, 250, 100]),
        (500, [25, 50, 100, 100]),  # of two rows each
        (100, [25, 25, 25, 25]),
        (5, [5, 2, 2, 2, 2]),
        (0.5, [1, 1, 1, 1]),
    ],
)
def test_a_page_owes_the_budget_about_a_second_whatever_its_items_take(
    per_second: float | None, pages: list[int]
) -> None:
    world = make_world(items=600, most=250)
    world.writes = RateLimiter(per_second, lambda: world.now)
    assert pages_of(world)[: len(pages)] == pages


def pages_of(world: World) -> list[int]:
    turned: list[int] = []
    world.work(watch=lambda record: turned.append(record.counts["items"]))
    items = [0, *turned]
    return [after - before for before, after in pairwise(items)]


def test_a_waiting_worker_renews_its_lease_and_stops_on_request() -> None:
    world = make_world(items=4, most=2)
    world.writes = RateLimiter(0.01, lambda: world.now)  # a page is paid back in minutes
    began = world.now
    record = world.work(stopped=lambda: world.now > began + 200)
    assert not record.done
    assert world.now - began < 202
    assert len(world.db.written(PROGRESS)) >= 200 // ALIVE_SECONDS
