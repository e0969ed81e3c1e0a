"""One worker on one segment: killed anywhere, in two pairs of hands, or refused by AWS."""

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


def world(things: int = 5, most: int = 2) -> World:
    made = World(most=most)
    for number in range(things):
        made.put(f"t{number}", x=str(number), y="1")
    return made


def states(made: World) -> list[tuple[list[Any], Any, bool]]:
    """List what the record had each time that it was written."""
    said: list[tuple[list[Any], Any, bool]] = []
    saved = made.db.put_item

    def put_item(TableName: str, Item: Any, **asked: Any) -> Any:  # noqa: N803 - boto3's
        answer = saved(TableName, Item, **asked)
        if TableName == PROGRESS:
            (record,) = made.records()
            said.append((record.intent, record.start, record.done))
        return answer

    made.db.put_item = put_item  # type: ignore[method-assign]
    return said


def test_the_intent_precedes_the_write_of_a_page_and_the_next_intent_moves_the_checkpoint() -> None:
    made = world(things=5, most=2)
    said = states(made)
    made.work()
    ids = [[key["id"]["S"] for key in intent] for intent, _, _ in said]
    assert ids == [[], ["t0", "t1"], ["t2", "t3"], ["t4"], []]
    starts = [start and start["id"]["S"] for _, start, _ in said]
    assert starts == [None, None, "t1", "t3", None]
    assert [done for _, _, done in said] == [False] * 4 + [True]
    writes = made.db.written(PROGRESS, TABLE)
    intent, written = ("put_item", PROGRESS), ("batch_write_item", TABLE)
    assert writes == [intent, intent, written, intent, written, intent, written, intent]


def test_pages_without_a_change_are_not_written_down_but_for_a_sign_of_life() -> None:
    made = world(things=40, most=2)
    made.run()
    made.db.tables[PROGRESS].clear()
    made.db.calls.clear()
    made.work(watch=lambda _: made.sleep(ALIVE_SECONDS / 5))
    assert made.db.written(TABLE) == []
    assert len(made.db.written(PROGRESS)) == 2 + 20 // 6  # begun, ended, and one in six pages


@pytest.mark.parametrize("lost", ["before", "after"])
def test_killed_at_any_call_while_items_go_at_any_other_the_end_is_right(lost: str) -> None:
    """The sync follows at once, so that what the worker writes afterwards is stale."""
    killed = 0
    for gone_at, killed_at in combinations_with_replacement(range(30), 2):
        made = world(things=4, most=2)

        def change(made: World = made) -> None:
            for id_ in ("t0", "t2"):
                made.delete(id_)
                made.sync(id_)
            made.put("t1", z="new")
            made.sync("t1")

        changes, kills = at_call(gone_at, change), dies_from(killed_at)
        if lost == "before":
            made.db.on(before=each(changes, kills))
        else:
            made.db.on(before=changes, after=kills)
        try:
            made.run()
        except KilledError:
            killed += 1
            made.db.on()
            made.delete("t3")
            made.sync("t3")
            made.later()
            assert made.run() is not None
        made.db.on()
        assert made.shown() == made.expected(), (gone_at, killed_at)
        assert made.records() == []
    assert killed > 200


def test_a_segment_leased_by_another_worker_is_refused_with_the_seconds_left() -> None:
    made = world()
    made.db.on(before=dies_from(4))
    with pytest.raises(KilledError):
        made.work()
    made.db.on()
    made.now += 30
    with pytest.raises(SegmentTakenError, match="lease expires in 150 seconds") as caught:
        made.work()
    assert caught.value.seconds == LEASE_SECONDS - 30
    made.now += 150.1
    assert made.work().done


def test_a_worker_that_has_lost_its_segment_never_writes_again() -> None:
    made = world(things=6, most=2)

    def lose(name: str, table: str) -> None:
        if (name, table) == ("scan", "Things"):
            made.db.on()
            made.later()
            made.progress.take(SEGMENT, made.fingerprint, deadline=never())
            made.db.calls.clear()

    made.db.on(before=lose)
    with pytest.raises(SegmentTakenError):
        made.work()
    assert made.db.written(TABLE) == []
    assert len(made.db.written(PROGRESS)) == 1  # which failed
    (record,) = made.records()
    assert record.version == 2


def test_a_slow_write_of_the_intent_leaves_no_time_for_the_page() -> None:
    """The lease was asked for long ago when the table took it: another may have the segment."""
    made = world()

    def slow(name: str, table: str) -> None:
        if (name, table) == ("put_item", PROGRESS) and made.db.calls.count((name, table)) == 2:
            made.now += WORK_SECONDS + 1

    made.db.on(before=slow)
    with pytest.raises(ServiceError, match="write rows of AdminViewTable: AWS answered OutOfTime"):
        made.work()
    assert made.db.written(TABLE) == []
    assert made.records()[0].intent


def test_to_take_a_segment_slowly_is_not_to_have_it_for_longer() -> None:
    made = world()
    with pytest.raises(KilledError):
        _killed_at_its_first_write(made)
    made.later()

    def slow(name: str, table: str) -> None:
        if (name, table) == ("put_item", PROGRESS):
            made.db.on()
            made.now += WORK_SECONDS + 1

    made.db.on(before=slow)
    made.db.calls.clear()
    with pytest.raises(ServiceError, match="OutOfTime"):
        made.work()
    assert made.db.written(TABLE) == []


def _killed_at_its_first_write(made: World) -> None:
    def kill(_: str, table: str) -> None:
        if table == TABLE and made.db.calls[-1][0] == "batch_write_item":
            raise KilledError

    made.db.on(after=kill)
    try:
        made.work()
    finally:
        made.db.on()


def test_an_answer_that_is_lost_is_no_loss() -> None:
    for lost in range(6):
        made = world()
        saves = iter(range(100))

        def lose(name: str, table: str, lost: int = lost, saves: Any = saves) -> None:
            if (name, table) == ("put_item", PROGRESS) and next(saves) == lost:
                raise refusal("InternalServerError", status=500)

        made.db.on(after=lose)
        assert made.work().done
        assert made.shown() == made.expected()


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
    made = world(things=6, most=2)

    def refuse(*asked: str) -> None:
        if asked == (call, table) and made.db.calls.count(asked) == 2:
            raise refusal("AccessDeniedException")

    made.db.on(before=refuse)
    with pytest.raises(ServiceError, match="AccessDeniedException"):
        made.work()
    (record,) = made.records()
    assert record.counts["items"] == 2  # what is in progress is not counted
    assert bool(record.intent) is not left_at_once
    made.db.on()
    if not left_at_once:
        with pytest.raises(SegmentTakenError):
            made.work()
        made.later()
    assert made.work().done
    assert made.shown() == made.expected()


def test_the_first_error_is_reported_though_the_lease_cannot_be_released() -> None:
    made = world()

    def refuse(name: str, _: str) -> None:
        if name == "scan" or (name == "put_item" and ("scan", "Things") in made.db.calls):
            raise refusal("AccessDeniedException")

    made.db.on(before=refuse)
    with pytest.raises(ServiceError, match="scan Things"):
        made.work()


def test_failing_items_are_tolerated_up_to_a_limit_and_then_all_stops() -> None:
    made = World(most=2)
    for number in range(10):
        made.write("Things", {"id": f"bad{number}"})
    assert made.work(tolerated=10).counts["failed"] == 10
    made.db.tables[PROGRESS].clear()
    with pytest.raises(TooManyFailuresError, match="4 items failed in backfill/Things"):
        made.work(tolerated=3)
    (record,) = made.records()
    assert record.deadline == 0.0, "others may go on"
    assert record.counts["items"] == 4
    assert made.work(tolerated=10).done


def test_it_stops_on_request_and_begins_no_page_that_it_could_not_end() -> None:
    made = world(things=6, most=2)
    stopped = made.work(stopped=lambda: bool(made.view))
    assert (stopped.done, stopped.counts["items"]) == (False, 2)
    ends = Deadline.after(PAGE_RESERVE + 1, lambda: made.now)

    def slow(_: Any) -> None:
        made.now += 2

    (record,) = made.records()
    assert record.deadline == 0.0
    late = made.worker(watch=slow).work(SEGMENT, end=ends)
    assert (late.done, late.counts["items"]) == (False, 4)
    assert made.work().done
    assert made.shown() == made.expected()


def test_a_note_too_large_makes_smaller_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    made = world(things=20, most=16)
    monkeypatch.setattr(worker_module, "INTENT_LIMIT", 100)  # bytes: of five keys
    said = states(made)
    made.work()
    assert max(len(intent) for intent, _, _ in said) == 4
    assert made.shown() == made.expected()
    made = world(things=3)
    monkeypatch.setattr(worker_module, "INTENT_LIMIT", 1)
    assert made.work().done, "one item is always taken"


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
    made = world(things=600, most=250)
    made.writes = RateLimiter(per_second, lambda: made.now)
    assert pages_of(made)[: len(pages)] == pages


def pages_of(made: World) -> list[int]:
    turned: list[int] = []
    made.work(watch=lambda record: turned.append(record.counts["items"]))
    items = [0, *turned]
    return [after - before for before, after in pairwise(items)]


def test_a_waiting_worker_renews_its_lease_and_stops_on_request() -> None:
    made = world(things=4, most=2)
    made.writes = RateLimiter(0.01, lambda: made.now)  # a page is paid back in minutes
    began = made.now
    record = made.work(stopped=lambda: made.now > began + 200)
    assert not record.done
    assert made.now - began < 202
    assert len(made.db.written(PROGRESS)) >= 200 // ALIVE_SECONDS
