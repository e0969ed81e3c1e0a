"""VerifyRun in time: grace, items that move, bounded memory, and the budget."""

from itertools import count
from random import Random
from typing import Any

import pytest

from adminview.bulk.verify.run import PageComparison, VerifyRun
from adminview.bulk.verify.scope import ScopeSegment, VerifyPhase
from adminview.bulk.verify.verifier import MOST_LOOKS
from adminview.model.errors import ServiceError, SettingsError
from tests.support.fakes import refusal
from tests.support.verify_tables import Lab, adds_up, found


def chance(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - a sample, not a secret


@pytest.fixture
def lab() -> Lab:
    """Start empty."""
    return Lab()


def sync_thing(lab: Lab, id_: str) -> None:
    lab.sync("Things", lab.dynamodb.tables["Things"][id_,])


def test_a_change_in_flight_is_not_reported(lab: Lab) -> None:
    lab.put("a", x="1", synced=False)
    lab.while_waiting = lambda: sync_thing(lab, "a")
    run = lab.verify()
    assert not found(run)
    assert run.total["in_flight"] == 1
    assert adds_up(run)


def test_a_deletion_in_flight_is_not_reported(lab: Lab) -> None:
    lab.put("a", x="1")
    del lab.dynamodb.tables["Things"]["a",]
    lab.while_waiting = lab.view.clear
    run = lab.verify()
    assert not found(run)
    assert run.total["in_flight"] == 1


def test_a_difference_is_looked_at_again_only_after_the_grace(lab: Lab) -> None:
    lab.put("a", x="1", synced=False)
    looked: list[float] = []
    lab.dynamodb.before = lambda name: looked.append(lab.now) if name == "get_item" else None
    verifier = lab.verifier(grace=40.0)
    verifier.verify(verifier.begin(lab.scope()))
    assert looked
    assert min(looked) >= 1040


def test_an_item_that_moves_is_looked_at_again_until_it_stands_still(lab: Lab) -> None:
    lab.put("a", x="0", synced=False)
    numbers = count(1)
    stops_moving_at = 1000 + 15 * 2 + 1

    def move() -> None:
        if lab.now < stops_moving_at:
            lab.put("a", x=str(next(numbers)), synced=False)

    lab.while_waiting = move
    run = lab.verify()
    assert found(run) == {("missing", "Things/a", ("THING#a", "x"))}
    assert lab.now >= stops_moving_at + 10, "the last move was given its grace"
    assert lab.now < 1000 + 15 * MOST_LOOKS


def test_an_item_that_never_stands_still_is_reported_as_it_is_in_the_end(lab: Lab) -> None:
    numbers = count(1)
    lab.put("a", x="0", synced=False)
    lab.while_waiting = lambda: lab.put("a", x=str(next(numbers)), synced=False)
    run = lab.verify()
    assert len(found(run)) == 1
    assert 15 * (MOST_LOOKS - 1) <= lab.now - 1000 < 15 * MOST_LOOKS
    assert adds_up(run)


def test_a_moving_item_whose_rows_keep_up_is_in_flight(lab: Lab) -> None:
    numbers = count(1)
    lab.put("a", x="0", synced=False)
    lab.while_waiting = lambda: lab.put("a", x=str(next(numbers)), synced=lab.now > 1050)
    run = lab.verify()
    assert not found(run)
    assert run.total["in_flight"] == 1


def test_suspects_are_few_however_much_differs(lab: Lab) -> None:
    for number in range(300):
        lab.put(f"t{number:03}", x="1", synced=False)
    lab.dynamodb.page_size = 7
    verifier = lab.verifier()
    scope = lab.scope()
    run = VerifyRun(
        scope, scope.cut(verifier.routes, chance(1).sample), room=20, clock=lambda: lab.now
    )
    most = 0

    def measure(_: str) -> None:
        nonlocal most
        most = max(most, len(run.to_json()["candidates"]))

    lab.dynamodb.before = measure
    verifier.verify(run)
    assert run.total["missing"] == 300
    assert 20 <= most < 20 + 7


def test_differences_beyond_what_is_kept_are_counted(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adminview.bulk.verify.run.KEPT", 10)
    for number in range(30):
        lab.put(f"t{number}", x="1", synced=False)
    run = lab.verify()
    assert len(run.differences) == 10
    assert run.total["missing"] == run.total["left"] == 30
    repaired = lab.verify(repair=True)
    assert repaired.total["repaired"] == 30
    assert not found(lab.verify())


def test_looks_and_pages_take_turns(lab: Lab) -> None:
    """A queue that is full lets scanning wait, and not end."""
    for number in range(20):
        lab.put(f"t{number}", x="1", synced=False)
    lab.dynamodb.page_size = 2
    verifier = lab.verifier(grace=1.0)
    scope = lab.scope()
    run = VerifyRun(
        scope, scope.cut(verifier.routes, chance(1).sample), room=2, clock=lambda: lab.now
    )
    run._candidates.grace = 1.0
    verifier.verify(run)
    calls = [name for name in lab.dynamodb.calls if name in {"scan", "get_item"}]
    assert calls.index("get_item") < 5, "a look before the third page"
    assert run.total["missing"] == 20


def test_the_reads_of_both_passes_and_of_looks_keep_to_the_budget(lab: Lab) -> None:
    for number in range(200):
        lab.put(f"t{number}", x="1", synced=number % 2 == 0)
    began = lab.now

    def measure(_: str) -> None:
        assert lab.dynamodb.units <= 10 * (lab.now - began + 1) + 60

    lab.dynamodb.before = measure
    verifier = lab.verifier(max_rcu=10)
    run = verifier.begin(lab.scope())
    verifier.verify(run)
    assert run.total["missing"] == 100
    assert lab.dynamodb.units > 500


@pytest.mark.parametrize(("segments", "share"), [(4, 0.01), (4, 0.3), (1, 0.9), (16, 0.05)])
def test_a_sample_costs_its_share_of_a_scan(lab: Lab, segments: int, share: float) -> None:
    for number in range(3000):
        lab.put(f"t{number}", x="1")
    seen = []
    for seed in range(12):
        verifier = lab.verifier()
        run = verifier.begin(lab.scope(segments=segments, sample=share), chance(seed))
        verifier.verify(run)
        assert run.finished
        seen.append(run.scanned / 6000)
    assert sum(seen) / len(seen) == pytest.approx(share, rel=0.3)


@pytest.mark.parametrize("share", [0.0001, 0.01, 0.1, 0.5, 0.99])
def test_a_sample_takes_few_calls(lab: Lab, share: float) -> None:
    for segments in (1, 4, 1000):
        cut = lab.scope(segments=segments, sample=share).cut(["Things"], chance(1).sample)
        rows = [one for one in cut if one.stage is VerifyPhase.ROWS]
        assert 1 <= len(rows) <= 10 * segments
        assert len(rows) / rows[0].total == pytest.approx(share, rel=0.3)
        assert rows[0].total <= 1_000_000


@pytest.mark.parametrize(
    "asked",
    [{"sample": 0}, {"sample": 1.1}, {"segments": 0}, {"segments": 1001}, {"source": "Nothing"}],
)
def test_what_cannot_be_meant_is_refused(lab: Lab, asked: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=r"choose|declared: Notes, Things"):
        lab.verifier().begin(lab.scope(**asked))


def test_when_aws_goes_on_refusing_the_run_can_go_on_later(lab: Lab) -> None:
    for number in range(50):
        lab.put(f"t{number}", x="1", synced=number % 2 == 0)
    lab.dynamodb.page_size = 5
    verifier = lab.verifier()
    run = verifier.begin(lab.scope(segments=3))
    for _ in range(100):
        left = iter(range(6))

        def refuse(_: str, left: Any = left) -> None:
            if next(left, None) is None:
                raise refusal("AccessDeniedException")

        lab.dynamodb.before = refuse
        try:
            verifier.verify(run)
        except ServiceError as error:
            assert error.code == "AccessDeniedException"  # noqa: PT017 - it may not come
        else:
            break
    assert run.finished
    assert run.total["missing"] == 25
    assert adds_up(run)


def test_keys_that_dynamodb_leaves_unprocessed_are_read_again(lab: Lab) -> None:
    for number in range(30):
        lab.put(f"t{number}", x="1")
    whole = lab.dynamodb.batch_get_item

    def some(RequestItems: Any, **more: Any) -> Any:  # noqa: N803 - boto3's
        ((table, asked),) = RequestItems.items()
        keys = asked["Keys"]
        answer = whole({table: {**asked, "Keys": keys[:7]}}, **more)
        left = {table: {"Keys": keys[7:]}} if keys[7:] else {}
        return answer | {"UnprocessedKeys": left}

    lab.dynamodb.batch_get_item = some  # type: ignore[method-assign]  # a fault in its place
    run = lab.verify()
    assert run.total == {"items": 30, "rows": 30, "equal": 60}


def test_to_wait_for_the_budget_is_not_to_lose_patience(lab: Lab) -> None:
    for number in range(60):
        lab.put(f"t{number}", x="1")
    verifier = lab.verifier(max_rcu=1, patience=0.5)
    run = verifier.begin(lab.scope())
    verifier.verify(run)
    assert run.finished
    assert lab.now > 1060


def test_what_is_written_down_is_a_moment_that_does_not_move(lab: Lab) -> None:
    run = VerifyRun(lab.scope(), [])
    before = run.to_json()["counts"]
    glance = PageComparison()
    glance.counts["Things"]["items"] += 1
    run.turn_page(ScopeSegment(VerifyPhase.ITEMS, "Things", 0, 1), {"id": {"S": "a"}}, glance)
    assert before == {}


@pytest.mark.parametrize("repair", [False, True])
def test_rows_that_are_missing_and_repairs_are_paid_for_too(lab: Lab, repair: bool) -> None:  # noqa: FBT001 - a case
    for number in range(20):
        lab.put(f"t{number}", synced=False, **{f"p{part}": "1" for part in range(50)})
    began, rate = lab.now, 20
    verifier = lab.verifier(max_rcu=rate)
    verifier.verify(verifier.begin(lab.scope(repair=repair)))
    most_of_one_item = 60
    assert lab.dynamodb.units <= rate * (lab.now - began + 1) + 2 * most_of_one_item
