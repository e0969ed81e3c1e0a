"""What a plan writes to the progress table, and reads there."""

from collections.abc import Callable
from typing import Any

import pytest

from adminview.aws.deadline import Deadline
from adminview.bulk.completions import CompletionMarkers, Marker, markers, sweeps
from adminview.bulk.lease_table import LEASE_SECONDS, LeaseTable
from adminview.bulk.segment import Segment, SegmentState
from adminview.model.errors import BulkError
from tests.support.plan_stacks import Cloud, ever

K1 = frozenset({"k1"})


def progress(cloud: Cloud, now: Callable[[], float]) -> CompletionMarkers:
    client: Any = cloud
    return CompletionMarkers(LeaseTable(client, "Progress"), now)


def test_marks_are_spoiled_before_other_code_comes_and_hold_again_when_it_is_built() -> None:
    cloud, times = Cloud(), iter(range(1, 100))
    table = progress(cloud, lambda: float(next(times)))
    ended = {"model": "m", "code": "a", "generation": 3}
    table.table.complete("backfill/Orders", ended, deadline=ever())
    assert markers(table.read()) == {"Orders": Marker("m", "a")}
    table.invalidate(["Orders"], ["Orders", "Gone"], ["k1"], model="m")
    assert markers(table.read()) == {"Orders": Marker("", "")}
    assert sweeps(table.read(), ["Orders"], "m") == {"Orders": K1, "Gone": K1}
    table.invalidate(["Orders"], ["Orders"], ["k2"], model="m")  # again, before it was swept
    assert sweeps(table.read(), [], "m")["Orders"] == K1 | {"k2"}

    assert table.read()["backfill/Orders"]["generation"] == 5  # which says when a run is another

    table.table.complete("sweep/Orders", {"model": "m", "at": table.now()}, deadline=ever())
    assert sweeps(table.read(), ["Orders", "Users"], "m") == {"Orders": None, "Gone": K1}
    table.table.complete("sweep/*", {"model": "m", "at": table.now()}, deadline=ever())
    assert sweeps(table.read(), ["Users"], "m") == dict.fromkeys(["Orders", "Gone", "Users"])
    table.invalidate([], ["Orders"], ["k3"], model="m")
    assert sweeps(table.read(), [], "m")["Orders"] == frozenset({"k3"})


@pytest.mark.parametrize("run", ["sweep/Orders", "sweep/*"])
def test_a_sweep_by_the_old_model_while_the_new_one_is_deployed_leaves_the_new_ones_to_be_done(
    run: str,
) -> None:
    times = iter(range(1, 100))
    table = progress(Cloud(), lambda: float(next(times)))
    table.invalidate(["Orders"], ["Orders"], ["k1"], model="new")
    table.table.complete(run, {"model": "old", "at": table.now()}, deadline=ever())
    assert sweeps(table.read(), ["Orders"], "new") == {"Orders": K1}
    given_up = sweeps(table.read(), ["Orders"], "old")
    assert given_up == {"Orders": None}, "where the plan was given up, the old one's will do"
    table.table.complete(run, {"model": "new", "at": table.now()}, deadline=ever())
    assert sweeps(table.read(), ["Orders"], "new") == {"Orders": None}


def test_what_was_swept_stays_so_when_a_later_model_changes_other_sources() -> None:
    times = iter(range(1, 100))
    table = progress(Cloud(), lambda: float(next(times)))
    table.invalidate([], ["Orders", "Users"], ["k1"], model="new")
    table.table.complete("sweep/*", {"model": "new", "at": table.now()}, deadline=ever())
    for _ in range(2):  # the second time, the mark has been taken back
        table.invalidate([], ["Orders"], ["k2"], model="newer")
        swept = sweeps(table.read(), [], "newer")
        assert swept == {"Orders": frozenset({"k2"}), "Users": None}


@pytest.mark.parametrize("run", ["backfill/Orders", "sweep/Orders", "sweep/*"])
def test_a_run_that_is_under_way_when_other_code_comes_neither_goes_on_nor_counts(
    run: str,
) -> None:
    cloud = Cloud()
    table = progress(cloud, lambda: 1.0)
    segment = Segment(run, 0, 1, generation=4)
    table.table.complete(
        run, {"model": "m", "generation": 3, "at": 0.5}, deadline=ever()
    )  # the one before
    table.table.save(SegmentState(segment, "m", done=True), deadline=ever(), keep=False)
    table.invalidate(["Orders"], ["Orders"], [], model="m")
    assert table.read()[run]["generation"] == 5
    with pytest.raises(BulkError, match="finished or restarted"):
        table.table.take(segment, "m", deadline=ever())


def test_a_run_that_ends_while_its_mark_is_taken_back_does_not_count_either() -> None:
    client: Any = Cloud()
    own = LeaseTable(client, "Progress")
    run, ended = "backfill/Orders", {"model": "m", "generation": 1}

    class Racing(LeaseTable):
        """Another ends the run just before the first mark."""

        def complete(self, subject: str, facts: dict[str, Any], *, deadline: Deadline) -> bool:
            if not own.completions(deadline=deadline):
                own.complete(run, ended, deadline=deadline)
            return super().complete(subject, facts, deadline=deadline)

    CompletionMarkers(Racing(client, "Progress"), lambda: 1.0).invalidate(
        ["Orders"], [], [], model="n"
    )
    assert own.completions(deadline=ever())[run] == {
        "model": "",
        "by": "m",
        "code": "",
        "at": 1.0,
        "generation": 2,
    }


@pytest.mark.parametrize("run", ["backfill/Orders", "sweep/Orders", "sweep/*"])
def test_a_run_of_which_no_worker_has_a_record_yet_neither_begins_nor_counts(run: str) -> None:
    """Its segments were handed out before other code came; its model may be deployed again."""
    table = progress(Cloud(), lambda: 1.0)
    table.invalidate(["Orders"], ["Orders"], [], model="other")
    with pytest.raises(BulkError, match="finished or restarted"):
        table.table.take(Segment(run, 0, 1, generation=1), "m", deadline=ever())


@pytest.mark.parametrize("run", ["sweep/Orders", "sweep/*"])
def test_a_sweep_of_another_model_is_seen_too(run: str) -> None:
    client: Any = Cloud()
    table = CompletionMarkers(LeaseTable(client, "Progress", now=lambda: 10.0), lambda: 10.0)
    table.table.save(SegmentState(Segment(run, 0, 1), "m"), deadline=ever())
    assert table.busy_until(["Orders"], "other") == 10.0 + LEASE_SECONDS


def test_a_worker_of_another_model_is_seen_and_one_of_this_is_not() -> None:
    client: Any = Cloud()
    table = CompletionMarkers(LeaseTable(client, "Progress", now=lambda: 10.0), lambda: 10.0)
    table.table.save(SegmentState(Segment("backfill/Orders", 0, 1), "m"), deadline=ever())
    assert table.busy_until(["Orders"], "other") == 10.0 + LEASE_SECONDS
    assert table.busy_until(["Orders"], "m") == table.busy_until(["Users"], "other") == 0.0


def test_a_progress_table_that_is_not_there_yet_says_nothing() -> None:
    cloud = Cloud(progress=None)
    table = progress(cloud, lambda: 0.0)
    table.invalidate(["Orders"], ["Orders"], [], model="m")
    assert table.read() == {}
    assert table.busy_until(["Orders"], "m") == 0.0
