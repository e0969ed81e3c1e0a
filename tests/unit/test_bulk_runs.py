"""Runs begin, resume, start over and end; intents of abandoned runs are recovered first."""

from contextlib import suppress
from dataclasses import replace
from itertools import count

import pytest

from adminview.bulk.segment import Segment
from adminview.model.errors import (
    BulkError,
    SegmentTakenError,
    SettingsError,
    TooManyFailuresError,
)
from tests.support.bulk_tables import PROGRESS, RUN, KilledError, World, dies_from, never
from tests.support.fakes import TABLE
from tests.support.migrations.delivery_date import delivery_date


@pytest.fixture
def world() -> World:
    """Let there be some things, and nothing in the view."""
    world = World(most=2)
    for number in range(12):
        world.put(f"t{number}", x="1")
    return world


def begin(world: World, of: int | None = None, *, restart: bool = False) -> list[Segment]:
    return world.bulk.begin(RUN, of, deadline=never(), restart=restart)


def finish(world: World) -> dict[str, int] | None:
    return world.bulk.finish(RUN, deadline=never())


def killed_over_a_page(world: World) -> None:
    """Die right after a page is written, whose item is then deleted: only the note knows it."""

    def die(name: str, _: str) -> None:
        if name == "batch_write_item":
            raise KilledError

    world.db.on(after=die)
    (segment,) = begin(world, 1)
    with pytest.raises(KilledError):
        world.worker().work(segment, end=never())
    world.db.on()
    world.delete("t0")


def test_a_run_is_named_by_what_is_done_and_to_what(world: World) -> None:
    assert world.bulk.run("backfill", "Notes") == "backfill/Notes"
    assert world.bulk.run("sweep") == "sweep/*"
    for kind, subject, known in (
        ("backfill", "Nope", "no source is named 'Nope'; declared are Things, Notes"),
        ("backfill", "*", r"no source is named '\*'"),
        ("migrate", "x", "no migration is named 'x'; declared are none"),
        ("migrate", None, "no migration is named None"),
        ("bakfill", "Things", "no task is named 'bakfill'; choose one of backfill, sweep, migrate"),
    ):
        with pytest.raises(SettingsError, match=known):
            world.bulk.run(kind, subject)


def test_the_table_of_a_run_is_the_deployments_own() -> None:
    world = World()
    bulk = replace(world.bulk, settings=replace(world.bulk.settings, sources={"Things": "prod-T"}))
    assert bulk.tables(RUN) == ["prod-T"]
    assert bulk.tables("sweep/*") == bulk.tables("sweep/Things") == [TABLE]
    assert bulk.tables("verify/*") == ["prod-T", "Notes"]
    assert bulk.tables("verify-rows/Things") == [TABLE]


def test_a_run_has_sixteen_segments_by_default(world: World) -> None:
    assert begin(world, 3) == [Segment(RUN, number, 3) for number in range(3)]
    assert len(begin(world)) == 16
    for wrong in (0, -1, 1001):
        with pytest.raises(SettingsError, match=f"{wrong} segments: choose 1 to 1000"):
            begin(world, wrong)


def test_a_run_that_was_begun_goes_on_with_its_own_segments_those_that_are_not_done(
    world: World,
) -> None:
    first, second, third = begin(world, 3)
    world.worker().work(second, end=never())
    assert begin(world) == [first, third] == begin(world, 3)
    with pytest.raises(SettingsError, match="was begun with 3 segments and has not finished"):
        begin(world, 4)
    assert [segment.of for segment in begin(world, 4, restart=True)] == [4] * 4
    assert world.records() == []


def test_all_segments_together_see_every_item_once(world: World) -> None:
    assert world.run(of=5) == {"items": 12, "rows": 12}
    assert world.shown() == world.expected()


def test_a_run_that_has_ended_is_marked_with_model_code_time_and_counts(world: World) -> None:
    world.run(of=2)
    assert world.records() == []
    mark = world.bulk.built(deadline=never())[RUN]
    assert mark == {
        "model": "model-1",
        "code": world.model.description()["code"]["Things"],
        "at": world.now,
        "counts": {"items": 12, "rows": 12},
        "generation": 1,
    }


def test_a_run_is_not_marked_before_its_last_segment_is_done(world: World) -> None:
    first, second = begin(world, 2)
    assert finish(world) is None
    world.worker().work(first, end=never())
    assert finish(world) is None
    assert world.bulk.built(deadline=never()) == {}
    world.worker().work(second, end=never())
    assert finish(world) == {"items": 12, "rows": 12}
    assert finish(world) is None


def test_of_two_runs_that_were_begun_at_once_the_second_continues(world: World) -> None:
    """Of two and of three segments, half of each: together they have not seen every item."""
    halves, thirds = begin(world, 2), begin(world, 3)
    with pytest.raises(BulkError, match="restarted"):
        world.worker().work(halves[0], end=never())
    assert world.records() == [], "no state is left behind"
    for segment in thirds[1:]:
        world.worker().work(segment, end=never())
        assert finish(world) is None
    assert begin(world) == [thirds[0]]
    assert [record.segment for record in world.records()] == thirds[1:]


def test_two_that_begin_the_same_run_at_once_work_on_the_same_segments(world: World) -> None:
    assert begin(world, 2) == begin(world, 2)
    others = world.bulk

    def begin_first(name: str, _: str) -> None:
        if name == "put_item":
            world.db.on()
            others.begin("sweep/*", 2, deadline=never())

    world.db.on(before=begin_first)
    segments = world.bulk.begin("sweep/*", 2, deadline=never())
    assert [segment.generation for segment in segments] == [1, 1]


@pytest.mark.parametrize("call", range(1, 11))
def test_a_state_that_is_added_while_another_run_begins_is_recovered_or_taken_back(
    world: World, call: int
) -> None:
    (old,) = begin(world, 1)
    calls = count(1)

    def take_meanwhile(_: str, table: str) -> None:
        if table == PROGRESS and next(calls) == call:
            world.db.on()
            with suppress(BulkError):
                world.progress.take(old, world.fingerprint, deadline=never())

    world.db.on(before=take_meanwhile)
    try:
        begin(world, 1, restart=True)
    except SegmentTakenError:
        world.db.on()
        world.later()
        begin(world, 1, restart=True)
    assert world.records() == []


def test_a_state_of_a_run_that_was_restarted_just_before_it_was_added_is_taken_back(
    world: World,
) -> None:
    (old,) = begin(world, 1)

    def restart(name: str, _: str) -> None:
        if name == "put_item":
            world.db.on()
            begin(world, 1, restart=True)

    world.db.on(before=restart)
    with pytest.raises(BulkError, match="restarted"):
        world.progress.take(old, world.fingerprint, deadline=never())
    assert world.records() == []


@pytest.mark.parametrize("of", [2, 50])
def test_taking_and_finishing_a_segment_reads_a_fixed_number_of_items(
    world: World, of: int
) -> None:
    segments = begin(world, of)
    for segment in segments[:-1]:
        world.worker().work(segment, end=never())
    world.db.calls.clear()
    world.worker().work(segments[-1], end=never())
    reads = [name for name, table in world.db.calls if table == PROGRESS and name != "put_item"]
    assert reads == ["get_item"] * 5


def test_pages_that_a_run_of_an_older_model_left_in_progress_are_recovered_first(
    world: World,
) -> None:
    killed_over_a_page(world)
    world.later()
    world.fingerprint = "model-2"
    assert ("THING#t0", "x") in world.view
    segments = begin(world, 4)
    assert ("THING#t0", "x") not in world.view
    assert [segment.of for segment in segments] == [4] * 4
    assert world.records() == []
    assert world.run(of=4) is not None
    assert world.shown() == world.expected()


def test_pages_that_a_started_over_run_left_in_progress_are_recovered_first(world: World) -> None:
    killed_over_a_page(world)
    with pytest.raises(SegmentTakenError):
        begin(world, restart=True)
    world.later()
    begin(world, restart=True)
    assert ("THING#t0", "x") not in world.view


def test_no_run_is_started_over_while_a_worker_is_active(world: World) -> None:
    world.progress.take(Segment(RUN, 0, 1), world.fingerprint, deadline=never())
    world.fingerprint = "model-2"
    with pytest.raises(SegmentTakenError):
        begin(world)
    world.fingerprint = "model-1"
    assert len(begin(world)) == 1, "but it may be gone on with"


def test_the_next_run_looks_at_everything_though_the_last_died_while_it_was_ended() -> None:
    """What is left of its records says that segments are done: of that run, not of this."""
    for killed_at in range(50):
        world = World()
        for number in range(8):
            world.put(f"t{number}", x="1")
        for segment in begin(world, 4):
            world.worker().work(segment, end=never())
        world.db.on(before=dies_from(killed_at))
        try:
            finish(world)
        except KilledError:
            world.db.on()
        else:
            assert killed_at > 5
            return
        marked = bool(world.bulk.built(deadline=never()))
        world.view.clear()
        counts = world.run(of=4)
        assert counts["items"] == 8
        assert not marked or world.shown() == world.expected()
        assert world.records() == []


def test_a_worker_that_is_called_again_after_the_end_does_not_count_for_the_next_run(
    world: World,
) -> None:
    """Its answer was lost, so the state machine calls again; the records are gone by then."""
    segments = begin(world, 2)
    world.run(of=2)
    assert world.worker().work(segments[0], end=never()).done
    assert world.records() == []
    assert finish(world) is None
    again = begin(world, 2)
    assert [(segment.number, segment.generation) for segment in again] == [(0, 2), (1, 2)]
    assert world.run(of=2) == {"items": 12, "right": 12}


def test_after_a_restart_an_old_worker_finds_no_place(world: World) -> None:
    (old,) = begin(world, 1)
    world.worker(stopped=lambda: bool(world.view)).work(old, end=never())
    (new,) = begin(world, 1, restart=True)
    assert (old.generation, new.generation) == (1, 2)
    world.worker(stopped=lambda: True).work(new, end=never())
    with pytest.raises(Exception, match="was restarted meanwhile"):
        world.worker().work(old, end=never())


def test_a_run_with_too_many_failed_items_is_never_marked_complete(
    world: World,
) -> None:
    for number in range(3):
        world.write("Things", {"id": f"bad{number}"})
    for segment in begin(world, 2):
        world.worker(tolerated=3).work(segment, end=never())
    for _ in range(2):
        with pytest.raises(
            TooManyFailuresError,
            match="3 items failed in backfill/Things, more than the tolerated 2",
        ):
            world.bulk.finish(RUN, deadline=never(), tolerated=2)
    assert world.bulk.built(deadline=never()) == {}
    counts = world.bulk.finish(RUN, deadline=never(), tolerated=3)
    assert counts is not None
    assert counts["failed"] == 3


def test_too_many_failures_of_a_run_are_reported_as_soon_as_a_segment_ends(world: World) -> None:
    for number in range(40):
        world.write("Things", {"id": f"bad{number}"})
    first, second, _ = begin(world, 3)
    for segment in (first, second):
        world.worker(tolerated=20).work(segment, end=never())
    with pytest.raises(TooManyFailuresError, match="more than the tolerated 20"):
        world.bulk.finish(RUN, deadline=never(), tolerated=20)


def test_a_worker_of_an_ended_turn_does_not_write_over_what_another_model_built(
    world: World,
) -> None:
    """Its machine slept, while another model was deployed and had built everything."""
    old = begin(world, 2)
    worker = world.worker()
    worker.work(old[0], end=never())
    world.fingerprint = "model-2"
    world.run(of=2)
    world.db.calls.clear()
    with pytest.raises(BulkError, match="finished or restarted"):
        worker.work(old[1], end=never())
    assert world.db.written(TABLE) == []


def test_what_another_version_of_a_migration_did_is_no_progress(world: World) -> None:
    first, other = (
        replace(delivery_date, module=module) for module in (__name__, "tests.support.bulk_tables")
    )
    assert first.digest != other.digest
    bulk = replace(world.bulk, migrations={first.name: first})
    run = bulk.run("migrate", first.name)
    assert bulk.worker(run).model == bulk.model_of(run) == first.digest
    assert bulk.worker(RUN).model == bulk.model_of(RUN) == world.fingerprint
