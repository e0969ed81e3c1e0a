"""A worker with an outdated record can neither delete nor overwrite a newer one."""

from dataclasses import replace
from typing import Any, cast

import pytest

from adminview.aws.deadline import Deadline
from adminview.bulk.lease_table import LEASE_SECONDS, LeaseTable
from adminview.bulk.segment import Segment, SegmentState
from adminview.model.errors import SegmentTakenError
from tests.simulator.choices import Choices
from tests.simulator.progress import PROGRESS
from tests.simulator.simulation import World

SEGMENT = Segment("backfill/Things", 0, 1)


def played(world: World, story: Any) -> Any:
    """Tell a story of two workers, in a fiber, and say how it ends."""

    def table(holder: str) -> LeaseTable:
        client = cast("Any", world.dynamodb)
        return LeaseTable(client, PROGRESS, world.backoff, world.fibers.clock, holder)

    deadline = Deadline(world.fibers.now + 10_000, world.fibers.clock)
    fiber = world.fibers.spawn("story", lambda: story(table("one"), table("other"), deadline))
    world.fibers.run()
    return fiber.result


@pytest.fixture
def world() -> World:
    """Begin with nothing."""
    return World(Choices())


def test_a_record_that_another_has_taken_is_not_forgotten(world: World) -> None:
    def story(mine: LeaseTable, other: LeaseTable, deadline: Deadline) -> list[SegmentState]:
        known = mine.save(SegmentState(SEGMENT, "model"), deadline=deadline, keep=False)
        taken = other.take(SEGMENT, "model", deadline=deadline)
        mine.forget(known, deadline=deadline)
        assert mine.records(SEGMENT.run, deadline=deadline) == [taken]
        other.forget(taken, deadline=deadline)
        return mine.records(SEGMENT.run, deadline=deadline)

    assert played(world, story) == []


def test_a_recreated_record_is_safe_from_the_holder_of_the_previous_one(world: World) -> None:
    def story(mine: LeaseTable, other: LeaseTable, deadline: Deadline) -> list[SegmentState]:
        before = mine.take(SEGMENT, "model", deadline=deadline)
        world.fibers.now += LEASE_SECONDS + 1
        record = mine.records(SEGMENT.run, deadline=deadline)[0]
        other.forget(other.take_over(record, deadline=deadline), deadline=deadline)
        again = other.take(SEGMENT, "model", deadline=deadline)
        assert again.version == before.version
        intent = other.save(
            replace(again, intent=["mine"], version=again.version), deadline=deadline
        )
        late = replace(before, version=intent.version)  # it has counted as far, before it hung
        with pytest.raises(SegmentTakenError):
            mine.save(late, deadline=deadline)
        return other.records(SEGMENT.run, deadline=deadline)

    (kept,) = played(world, story)
    assert kept.intent == ["mine"]
    assert kept.holder == "other"
