"""Runs: begun, gone on with, begun anew, ended; and what others left is put right first."""

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
def made() -> World:
    """Let there be some things, and nothing in the view."""
    world = World(most=2)
    for number in range(12):
        world.put(f"t{number}", x="1")
    return world


def begin(made: World, of: int | None = None, *, restart: bool = False) -> list[Segment]:
    return made.bulk.begin(RUN, of, deadline=never(), restart=restart)


def finish(made: World) -> dict[str, int] | None:
    return made.bulk.finish(RUN, deadline=never())


def killed_over_a_page(made: World) -> None:
    """Die right after a page is written, whose item is then deleted: only the note knows it."""

    def die(name: str, _: str) -> None:
        if name == "batch_write_item":
            raise KilledError

    made.db.on(after=die)
    (segment,) = begin(made, 1)
    with pytest.raises(KilledError):
        made.worker().work(segment, end=never())
    made.db.on()
    made.delete("t0")


def test_a_run_is_named_by_what_is_done_and_to_what(made: World) -> None:
    assert made.bulk.run("backfill", "Notes") == "backfill/Notes"
    assert made.bulk.run("sweep") == "sweep/*"
    for kind, subject, known in (
        ("backfill", "Nope", "no source is named 'Nope'; declared: Things, Notes"),
        ("backfill", "*", r"no source is named '\*'"),
        ("migrate", "x", "no migration is named 'x'; declared: none"),
        ("migrate", None, "no migration is named None"),
        ("bakfill", "Things", "no task is named 'bakfill'; choose one of backfill, sweep, migrate"),
    ):
        with pytest.raises(SettingsError, match=known):
            made.bulk.run(kind, subject)


def test_the_table_of_a_run_is_the_deployments_own() -> None:
    made = World()
    bulk = replace(made.bulk, settings=replace(made.bulk.settings, sources={"Things": "prod-T"}))
    assert bulk.tables(RUN) == ["prod-T"]
    assert bulk.tables("sweep/*") == bulk.tables("sweep/Things") == [TABLE]
    assert bulk.tables("verify/*") == ["prod-T", "Notes"]
    assert bulk.tables("verify-rows/Things") == [TABLE]


def test_a_run_has_sixteen_segments_by_default(made: World) -> None:
    assert begin(made, 3) == [Segment(RUN, number, 3) for number in range(3)]
    assert len(begin(made)) == 16
    for wrong in (0, -1, 1001):
        with pytest.raises(SettingsError, match=f"{wrong} segments: choose 1 to 1000"):
            begin(made, wrong)


def test_a_run_that_was_begun_goes_on_with_its_own_segments_those_that_are_not_done(
    made: World,
) -> None:
    first, second, third = begin(made, 3)
    made.worker().work(second, end=never())
    assert begin(made) == [first, third] == begin(made, 3)
    with pytest.raises(SettingsError, match="was begun with 3 segments and has not finished"):
        begin(made, 4)
    assert [one.of for one in begin(made, 4, restart=True)] == [4] * 4
    assert made.records() == []


def test_all_segments_together_see_every_item_once(made: World) -> None:
    assert made.run(of=5) == {"items": 12, "rows": 12}
    assert made.shown() == made.expected()


def test_a_run_that_has_ended_is_marked_with_model_code_time_and_counts(made: World) -> None:
    made.run(of=2)
    assert made.records() == []
    mark = made.bulk.built(deadline=never())[RUN]
    assert mark == {
        "model": "model-1",
        "code": made.model.description()["code"]["Things"],
        "at": made.now,
        "counts": {"items": 12, "rows": 12},
        "generation": 1,
    }


def test_a_run_is_not_marked_before_its_last_segment_is_done(made: World) -> None:
    first, second = begin(made, 2)
    assert finish(made) is None
    made.worker().work(first, end=never())
    assert finish(made) is None
    assert made.bulk.built(deadline=never()) == {}
    made.worker().work(second, end=never())
    assert finish(made) == {"items": 12, "rows": 12}
    assert finish(made) is None


def test_of_two_runs_that_were_begun_at_once_the_second_continues(made: World) -> None:
    """Of two and of three segments, half of each: together they have not seen every item."""
    halves, thirds = begin(made, 2), begin(made, 3)
    with pytest.raises(BulkError, match="restarted"):
        made.worker().work(halves[0], end=never())
    assert made.records() == [], "no state is left behind"
    for segment in thirds[1:]:
        made.worker().work(segment, end=never())
        assert finish(made) is None
    assert begin(made) == [thirds[0]]
    assert [one.segment for one in made.records()] == thirds[1:]


def test_two_that_begin_the_same_run_at_once_work_on_the_same_segments(made: World) -> None:
    assert begin(made, 2) == begin(made, 2)
    others = made.bulk

    def begin_first(name: str, _: str) -> None:
        if name == "put_item":
            made.db.on()
            others.begin("sweep/*", 2, deadline=never())

    made.db.on(before=begin_first)
    segments = made.bulk.begin("sweep/*", 2, deadline=never())
    assert [one.generation for one in segments] == [1, 1]


@pytest.mark.parametrize("call", range(1, 11))
def test_a_state_that_is_added_while_another_run_begins_is_recovered_or_taken_back(
    made: World, call: int
) -> None:
    (old,) = begin(made, 1)
    calls = count(1)

    def take_meanwhile(_: str, table: str) -> None:
        if table == PROGRESS and next(calls) == call:
            made.db.on()
            with suppress(BulkError):
                made.progress.take(old, made.fingerprint, deadline=never())

    made.db.on(before=take_meanwhile)
    try:
        begin(made, 1, restart=True)
    except SegmentTakenError:
        made.db.on()
        made.later()
        begin(made, 1, restart=True)
    assert made.records() == []


def test_a_state_of_a_run_that_was_restarted_just_before_it_was_added_is_taken_back(
    made: World,
) -> None:
    (old,) = begin(made, 1)

    def restart(name: str, _: str) -> None:
        if name == "put_item":
            made.db.on()
            begin(made, 1, restart=True)

    made.db.on(before=restart)
    with pytest.raises(BulkError, match="restarted"):
        made.progress.take(old, made.fingerprint, deadline=never())
    assert made.records() == []


@pytest.mark.parametrize("of", [2, 50])
def test_taking_and_finishing_a_segment_reads_a_fixed_number_of_items(made: World, of: int) -> None:
    segments = begin(made, of)
    for segment in segments[:-1]:
        made.worker().work(segment, end=never())
    made.db.calls.clear()
    made.worker().work(segments[-1], end=never())
    reads = [name for name, table in made.db.calls if table == PROGRESS and name != "put_item"]
    assert reads == ["get_item"] * 5


def test_pages_that_a_run_of_an_older_model_left_in_progress_are_recovered_first(
    made: World,
) -> None:
    killed_over_a_page(made)
    made.later()
    made.fingerprint = "model-2"
    assert ("THING#t0", "x") in made.view
    segments = begin(made, 4)
    assert ("THING#t0", "x") not in made.view
    assert [one.of for one in segments] == [4] * 4
    assert made.records() == []
    assert made.run(of=4) is not None
    assert made.shown() == made.expected()


def test_pages_that_a_started_over_run_left_in_progress_are_recovered_first(made: World) -> None:
    killed_over_a_page(made)
    with pytest.raises(SegmentTakenError):
        begin(made, restart=True)
    made.later()
    begin(made, restart=True)
    assert ("THING#t0", "x") not in made.view


def test_no_run_is_started_over_while_a_worker_is_active(made: World) -> None:
    made.progress.take(Segment(RUN, 0, 1), made.fingerprint, deadline=never())
    made.fingerprint = "model-2"
    with pytest.raises(SegmentTakenError):
        begin(made)
    made.fingerprint = "model-1"
    assert len(begin(made)) == 1, "but it may be gone on with"


def test_the_next_run_looks_at_everything_though_the_last_died_while_it_was_ended() -> None:
    """What is left of its records says that segments are done: of that run, not of this."""
    for killed_at in range(50):
        made = World()
        for number in range(8):
            made.put(f"t{number}", x="1")
        for segment in begin(made, 4):
            made.worker().work(segment, end=never())
        made.db.on(before=dies_from(killed_at))
        try:
            finish(made)
        except KilledError:
            made.db.on()
        else:
            assert killed_at > 5
            return
        marked = bool(made.bulk.built(deadline=never()))
        made.view.clear()
        counts = made.run(of=4)
        assert counts["items"] == 8
        assert not marked or made.shown() == made.expected()
        assert made.records() == []


def test_a_worker_that_is_called_again_after_the_end_does_not_count_for_the_next_run(
    made: World,
) -> None:
    """Its answer was lost, so the state machine calls again; the records are gone by then."""
    segments = begin(made, 2)
    made.run(of=2)
    assert made.worker().work(segments[0], end=never()).done
    assert made.records() == []
    assert finish(made) is None
    again = begin(made, 2)
    assert [(one.number, one.generation) for one in again] == [(0, 2), (1, 2)]
    assert made.run(of=2) == {"items": 12, "right": 12}


def test_after_a_restart_an_old_worker_finds_no_place(made: World) -> None:
    (old,) = begin(made, 1)
    made.worker(stopped=lambda: bool(made.view)).work(old, end=never())
    (new,) = begin(made, 1, restart=True)
    assert (old.generation, new.generation) == (1, 2)
    made.worker(stopped=lambda: True).work(new, end=never())
    with pytest.raises(Exception, match="was restarted meanwhile"):
        made.worker().work(old, end=never())


def test_a_run_with_too_many_failed_items_is_never_marked_complete(
    made: World,
) -> None:
    for number in range(3):
        made.write("Things", {"id": f"bad{number}"})
    for segment in begin(made, 2):
        made.worker(tolerated=3).work(segment, end=never())
    for _ in range(2):
        with pytest.raises(
            TooManyFailuresError,
            match="3 items failed in backfill/Things, more than the tolerated 2",
        ):
            made.bulk.finish(RUN, deadline=never(), tolerated=2)
    assert made.bulk.built(deadline=never()) == {}
    counts = made.bulk.finish(RUN, deadline=never(), tolerated=3)
    assert counts is not None
    assert counts["failed"] == 3


def test_too_many_failures_of_a_run_are_reported_as_soon_as_a_segment_ends(made: World) -> None:
    for number in range(40):
        made.write("Things", {"id": f"bad{number}"})
    first, second, _ = begin(made, 3)
    for one in (first, second):
        made.worker(tolerated=20).work(one, end=never())
    with pytest.raises(TooManyFailuresError, match="more than the tolerated 20"):
        made.bulk.finish(RUN, deadline=never(), tolerated=20)


def test_a_worker_of_an_ended_turn_does_not_write_over_what_another_model_built(
    made: World,
) -> None:
    """Its machine slept, while another model was deployed and had built everything."""
    old = begin(made, 2)
    worker = made.worker()
    worker.work(old[0], end=never())
    made.fingerprint = "model-2"
    made.run(of=2)
    made.db.calls.clear()
    with pytest.raises(BulkError, match="finished or restarted"):
        worker.work(old[1], end=never())
    assert made.db.written(TABLE) == []


def test_what_another_version_of_a_migration_did_is_no_progress(made: World) -> None:
    first, other = (
        replace(delivery_date, module=one) for one in (__name__, "tests.support.bulk_tables")
    )
    assert first.digest != other.digest
    bulk = replace(made.bulk, migrations={first.name: first})
    run = bulk.run("migrate", first.name)
    assert bulk.worker(run).model == bulk.model_of(run) == first.digest
    assert bulk.worker(RUN).model == bulk.model_of(RUN) == made.fingerprint
