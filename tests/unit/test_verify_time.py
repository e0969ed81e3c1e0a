"""A verification in time: grace period, changing items, bounded memory, budget."""

from itertools import count
from typing import Any

import pytest

from adminview.aws.rate_limit import RateLimiter
from adminview.bulk.segment import SegmentState
from adminview.bulk.verify.scope import Scope
from adminview.bulk.verify.verify import MOST_LOOKS
from adminview.model.errors import ServiceError, SettingsError
from tests.support.bulk_tables import PROGRESS
from tests.support.fakes import refusal
from tests.support.verify_tables import Lab, adds_up, findings_in

BEGAN = Lab().now
GRACE = Scope().grace


@pytest.fixture
def lab() -> Lab:
    """Start empty."""
    return Lab()


def sync_thing(lab: Lab, id_: str) -> None:
    lab.sync_item("Things", lab.db.tables["Things"][id_,])


def test_a_change_in_flight_is_not_reported(lab: Lab) -> None:
    lab.put("a", x="1", synced=False)
    lab.while_waiting = lambda: sync_thing(lab, "a")
    run = lab.verify()
    assert not findings_in(run)
    assert run.total["in_flight"] == 1
    assert adds_up(run)


def test_a_deletion_in_flight_is_not_reported(lab: Lab) -> None:
    lab.put("a", x="1")
    del lab.db.tables["Things"]["a",]
    lab.while_waiting = lab.view.clear
    run = lab.verify()
    assert not findings_in(run)
    assert run.total["in_flight"] == 1


def test_a_difference_is_looked_at_again_only_after_the_grace(lab: Lab) -> None:
    lab.put("a", x="1", synced=False)
    looked: list[float] = []

    def look(name: str, table: str) -> None:
        if (name, table) == ("get_item", "Things"):
            looked.append(lab.now)

    lab.db.on(before=look)
    lab.verify(grace=40.0)
    assert looked
    assert min(looked) >= BEGAN + 40


def test_an_item_that_moves_is_looked_at_again_until_it_stands_still(lab: Lab) -> None:
    lab.put("a", x="0", synced=False)
    numbers = count(1)
    stops_moving_at = BEGAN + GRACE * 2 + 1

    def move() -> None:
        if lab.now < stops_moving_at:
            lab.put("a", x=str(next(numbers)), synced=False)

    lab.while_waiting = move
    run = lab.verify()
    assert findings_in(run) == {("missing", "Things/a", ("THING#a", "x"))}
    assert lab.now >= stops_moving_at + GRACE - 5, "the last move was given its grace"
    assert lab.now < BEGAN + (GRACE + 2) * MOST_LOOKS


def test_an_item_that_never_stands_still_is_reported_as_it_is_in_the_end(lab: Lab) -> None:
    numbers = count(1)
    lab.put("a", x="0", synced=False)
    lab.while_waiting = lambda: lab.put("a", x=str(next(numbers)), synced=False)
    run = lab.verify()
    assert len(findings_in(run)) == 1
    assert GRACE * (MOST_LOOKS - 1) <= lab.now - BEGAN < (GRACE + 2) * MOST_LOOKS
    assert adds_up(run)


def test_a_moving_item_whose_rows_keep_up_is_in_flight(lab: Lab) -> None:
    numbers = count(1)
    lab.put("a", x="0", synced=False)
    lab.while_waiting = lambda: lab.put("a", x=str(next(numbers)), synced=lab.now > BEGAN + 50)
    run = lab.verify()
    assert not findings_in(run)
    assert run.total["in_flight"] == 1


def states_while(lab: Lab) -> list[SegmentState]:
    """Collect the states that a verification saves."""
    seen: list[SegmentState] = []

    def look(name: str, table: str) -> None:
        if (name, table) == ("put_item", PROGRESS):
            seen.extend(lab.records("verify/*"))

    lab.db.on(after=look)
    return seen


def test_candidates_are_few_however_much_differs(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adminview.bulk.worker.WAITING_LIMIT", 6000)
    for number in range(300):
        lab.put(f"t{number:03}", x="1", synced=False)
    lab.most, seen = 50, states_while(lab)
    assert lab.verify(grace=60.0).total["missing"] == 300
    assert 2000 < max(len(str(state.waiting)) for state in seen) < 7000
    assert all(state.intent == [] for state in seen)


def test_differences_beyond_what_is_kept_are_counted(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adminview.bulk.worker.FINDINGS_LIMIT", 1500)
    monkeypatch.setattr("adminview.bulk.runs.FINDINGS_LIMIT", 2500)
    for number in range(60):
        lab.put(f"t{number:02}", x="1", synced=False)
    run = lab.verify(segments=3)
    assert 0 < len(str(run.findings)) < 2600
    assert run.total["missing"] == run.total["left"] == 60
    repaired = lab.verify(repair=True)
    assert repaired.total["repaired"] == 60
    assert not findings_in(lab.verify())


def test_the_reads_of_both_phases_and_of_rechecks_keep_to_the_budget(lab: Lab) -> None:
    for number in range(200):
        lab.put(f"t{number}", x="1", synced=number % 2 == 0)
    lab.reads = RateLimiter(10, lambda: lab.now)
    at_once = 25 * 4  # of a batch of rechecks

    def measure(*_: str) -> None:
        assert lab.reads.spent <= 10 * (lab.now - BEGAN + 1) + at_once

    lab.db.on(before=measure)
    run = lab.verify()
    assert run.total["missing"] == 100
    assert lab.reads.spent > 500


@pytest.mark.parametrize(("segments", "share"), [(4, 0.01), (4, 0.3), (1, 0.9), (16, 0.05)])
def test_a_sample_costs_its_share_of_a_scan(lab: Lab, segments: int, share: float) -> None:
    for number in range(3000):
        lab.put(f"t{number}", x="1")
    seen = []
    for _ in range(12):
        total = lab.verify(segments=segments, sample=share).total
        seen.append((total["items"] + total["rows"]) / 6000)
    assert len({*seen}) > 1, "every run has its own sample"
    assert sum(seen) / len(seen) == pytest.approx(share, rel=0.3)


@pytest.mark.parametrize("share", [0.0001, 0.01, 0.1, 0.5, 0.99])
def test_a_sample_takes_few_calls(share: float) -> None:
    for segments in (1, 4, 1000):
        scope = Scope(segments, share, seed=1)
        total, numbers = scope.numbers("Things")
        assert 1 <= len(numbers) <= 10 * segments
        assert len(numbers) / total == pytest.approx(share, rel=0.3)
        assert total <= 1_000_000
        both = ["Things", "Notes"]
        assert scope.count(both) == 2 * len(numbers)
        assert scope.part(both, len(numbers) - 1) == ("Things", (numbers[-1], total))
        assert scope.part(both, len(numbers))[0] == "Notes"


@pytest.mark.parametrize(
    "options", [{"sample": 0}, {"sample": 1.1}, {"segments": 0}, {"segments": 1001}]
)
def test_what_cannot_be_meant_is_refused(lab: Lab, options: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="choose"):
        lab.verify(**options)
    with pytest.raises(SettingsError, match="no source is named 'Nothing'; declared are Things"):
        lab.verify("Nothing")


def test_when_aws_goes_on_refusing_the_run_can_go_on_later(lab: Lab) -> None:
    for number in range(50):
        lab.put(f"t{number}", x="1", synced=number % 2 == 0)
    lab.most = 5
    refused = 0
    while True:
        left = iter(range(45))  # more than one batch of rechecks takes

        def refuse(_: str, table: str, left: Any = left) -> None:
            if table != PROGRESS and next(left, None) is None:
                raise refusal("AccessDeniedException")

        lab.db.on(before=refuse)
        try:
            run = lab.verify(segments=3)
        except ServiceError as error:
            assert error.code == "AccessDeniedException"  # noqa: PT017 - it may not come
            refused += 1
        else:
            break
    assert refused > 1
    assert run.total["missing"] == 25
    assert run.total["items"] == 50
    assert adds_up(run)
