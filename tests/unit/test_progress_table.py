"""The progress table: one lease holder at a time, whatever calls are lost."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from adminview.bulk.lease_table import LEASE_SECONDS, LeaseTable
from adminview.bulk.segment import Segment, SegmentState
from adminview.model.errors import BulkError, SegmentTakenError, ServiceError
from tests.support.bulk_tables import PROGRESS, RUN, World, never
from tests.support.fakes import refusal

SEGMENT = Segment(RUN, 3, 16, 2)


@pytest.fixture
def world() -> World:
    """Begin with nothing written down."""
    return World()


def take(table: LeaseTable, segment: Segment = SEGMENT, model: str = "m") -> SegmentState:
    return table.take(segment, model, deadline=never())


def test_a_record_is_read_back_as_it_was_written(world: World) -> None:
    record = replace(
        take(world.progress),
        start={"id": {"S": "é/ü"}, "n": {"N": "1.50"}, "b": {"B": "AAE="}},
        intent=[{"id": {"S": "a"}}, ["owner", [["pk", "sk"]]]],
        counts=Counter(items=3, failed=1),
        done=True,
    )
    saved = world.progress.save(record, deadline=never())
    assert world.progress.read(SEGMENT, deadline=never()) == saved
    assert world.records() == [saved]
    assert replace(saved, version=record.version, deadline=record.deadline, holder="") == replace(
        record, holder=""
    )


def test_a_segment_is_taken_once_and_again_when_it_was_left_or_its_lease_is_over(
    world: World,
) -> None:
    mine, other = world.progress, world.progress
    record = take(mine)
    with pytest.raises(SegmentTakenError) as caught:
        take(other)
    assert caught.value.seconds == LEASE_SECONDS
    left = mine.save(record, deadline=never(), keep=False)
    assert take(other).version == left.version + 1
    world.later()
    assert take(mine).holder == mine.holder


@pytest.mark.parametrize("there_before", [False, True])
def test_of_two_that_take_it_at_once_one_gets_it(world: World, *, there_before: bool) -> None:
    if there_before:
        take(world.progress)
        world.later()
    other = world.progress

    def take_first(name: str, _: str) -> None:
        if name == "put_item":
            world.db.on()
            take(other)

    world.db.on(before=take_first)
    with pytest.raises(SegmentTakenError):
        take(world.progress)
    (record,) = world.records()
    assert record.holder == other.holder


def test_who_has_lost_it_cannot_write_any_more(world: World) -> None:
    mine, other = world.progress, world.progress
    record = take(mine)
    world.later()
    theirs = take(other)
    for keep in (True, False):
        with pytest.raises(SegmentTakenError):
            mine.save(record, deadline=never(), keep=keep)
    assert world.records() == [theirs]


def test_who_has_lost_it_to_one_who_forgot_it_does_not_bring_it_back(world: World) -> None:
    record = take(world.progress)
    world.progress.forget(record, deadline=never())
    with pytest.raises(SegmentTakenError):
        world.progress.save(record, deadline=never())
    assert world.records() == []


def test_an_answer_that_is_lost_is_found_out(world: World) -> None:
    lost = iter([True])

    def lose(name: str, _: str) -> None:
        if name == "put_item" and next(lost, False):
            raise refusal("InternalServerError", status=500)

    table = world.progress
    record = take(table)
    world.db.on(after=lose)
    saved = table.save(replace(record, done=True), deadline=never())
    assert world.records() == [saved]


@pytest.mark.parametrize(
    "other",
    [replace(SEGMENT, of=8), replace(SEGMENT, generation=1), replace(SEGMENT, generation=3)],
)
def test_a_segment_of_another_run_is_not_waited_for(world: World, other: Segment) -> None:
    """It would be in vain: that run does not end by itself, and this one is out of date."""
    take(world.progress, other)
    for model in ("m", "another"):
        with pytest.raises(BulkError, match="was restarted meanwhile, with") as caught:
            take(world.progress, SEGMENT, model)
        assert not isinstance(caught.value, SegmentTakenError)
    world.later()
    with pytest.raises(BulkError, match="and model m"):
        take(world.progress)


def test_records_are_listed_by_run_in_the_order_of_their_segments(world: World) -> None:
    for number in (11, 2, 100):
        take(world.progress, Segment(RUN, number, 128))
    take(world.progress, Segment("backfill/Things2", 0, 1))
    assert [record.segment.number for record in world.records()] == [2, 11, 100]


def test_marks_are_kept_apart_from_records(world: World) -> None:
    world.progress.complete(RUN, {"model": "m", "counts": {"items": 3}}, deadline=never())
    take(world.progress)
    assert world.progress.completions(deadline=never()) == {
        RUN: {"model": "m", "counts": {"items": 3}}
    }
    assert len(world.records()) == 1


def marked(world: World) -> Any:
    return world.progress.completions(deadline=never())[RUN]


@pytest.mark.parametrize("first", [None, {"since": 0}])
@pytest.mark.parametrize("newer", [{"since": 2}, {"model": "", "generation": 9}])
def test_a_mark_that_arrives_late_does_not_replace_a_newer_one(
    world: World, first: dict[str, Any] | None, newer: dict[str, Any]
) -> None:
    """Its call gets no response and is repeated; the first try takes effect at the very end."""
    if first:
        world.progress.complete(RUN, first, deadline=never())
    db: Any = world.db
    put, late = db.put_item, []

    def hold_first(**request: Any) -> Any:
        late.append(request)
        if len(late) == 1:
            raise ReadTimeoutError(endpoint_url="http://127.0.0.1")
        return put(**request)

    db.put_item = hold_first
    mine = {"since": 1} if "since" in newer else {"model": "m", "generation": 1}
    assert world.progress.complete(RUN, mine, deadline=never())
    assert marked(world) == mine
    assert world.progress.complete(RUN, newer, deadline=never())
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        put(**late[0])
    assert marked(world) == newer


def test_a_mark_whose_answer_is_lost_is_found_out(world: World) -> None:
    lost = iter([True])

    def lose(name: str, _: str) -> None:
        if name == "put_item" and next(lost, False):
            raise refusal("InternalServerError", status=500)

    world.db.on(after=lose)
    assert world.progress.complete(RUN, {"since": 1}, deadline=never())
    assert marked(world) == {"since": 1}
    assert world.db.written(PROGRESS) == [("put_item", PROGRESS)] * 2


@pytest.mark.parametrize(
    ("generation", "model", "is_marked"), [(4, "m", False), (5, "", False), (5, "m", True)]
)
def test_a_mark_of_an_earlier_turn_or_of_this_one_by_another_model_is_not_made(
    world: World, generation: int, model: str, *, is_marked: bool
) -> None:
    there = {"model": "m", "generation": 5, "at": 1}
    world.progress.complete(RUN, there, deadline=never())
    mine = {"model": model, "generation": generation, "at": 2}
    assert world.progress.complete(RUN, mine, deadline=never()) is is_marked
    assert marked(world) == there


def test_of_two_that_mark_at_once_the_later_turn_stays(world: World) -> None:
    others, newer = world.progress, {"model": "", "generation": 2}

    def mark_first(name: str, _: str) -> None:
        if name == "put_item":
            world.db.on()
            others.complete(RUN, newer, deadline=never())

    world.db.on(before=mark_first)
    assert not world.progress.complete(RUN, {"model": "m", "generation": 1}, deadline=never())
    assert marked(world) == newer


def test_a_run_that_is_overtaken_just_before_its_mark_does_not_count(world: World) -> None:
    segment = Segment(RUN, 0, 1, 1)
    record = take(world.progress, segment, world.fingerprint)
    world.progress.save(replace(record, done=True), deadline=never(), keep=False)
    spoiled, others = {"model": "", "generation": 2}, world.progress

    def invalidate(name: str, _: str) -> None:
        if name == "put_item":
            world.db.on()
            others.complete(RUN, spoiled, deadline=never())

    world.db.on(before=invalidate)
    assert world.bulk.finish(RUN, deadline=never()) is None
    assert marked(world) == spoiled


def test_an_error_names_the_table(world: World) -> None:
    def refuse(*_: str) -> None:
        raise refusal("ResourceNotFoundException")

    world.db.on(before=refuse)
    with pytest.raises(ServiceError, match=f"read {PROGRESS}: AWS answered ResourceNotFound"):
        take(world.progress)


@pytest.mark.parametrize("model", ["m", "another"])
def test_a_run_that_others_end_while_it_is_taken_does_not_begin_again(
    world: World, model: str
) -> None:
    """They mark it, and delete its records, between our last look and our first record."""
    table, others = world.progress, world.progress

    marked: list[str] = []

    def end(name: str, in_table: str) -> None:
        if not marked and (name, in_table) == ("put_item", PROGRESS):
            marked.append(name)
            others.complete(
                RUN, {"generation": SEGMENT.generation, "model": model}, deadline=never()
            )

    world.db.on(before=end)
    if model == "m":
        assert take(table).done
    else:
        with pytest.raises(BulkError, match="finished or restarted"):
            take(table)
    assert world.records() == [], "nothing is left for others to find"
