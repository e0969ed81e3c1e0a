"""The simulator catches plausible but wrong variants of the code quickly."""

import pytest

from adminview.aws.deadline import Deadline
from tests.simulator.calls import Calls
from tests.simulator.history import Result, check, explain, play, repeat, shrunk
from tests.simulator.laws import check_the_end
from tests.simulator.plants import PLANTS, first_write_wins
from tests.simulator.shrink import trimmed
from tests.simulator.simulation import World

SEEDS = 6000  # far more than any of them takes


def catch() -> tuple[int, Result]:
    """Find the first history that breaks a law."""
    for seed in range(SEEDS):
        result = play(seed)
        if result.failure:
            return seed, result
    raise LookupError


@pytest.mark.slow
@pytest.mark.parametrize("variant", PLANTS)
def test_a_wrong_variant_is_caught_where_the_product_is_not(variant: str) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        PLANTS[variant](monkeypatch)
        seed, result = catch()
        short = shrunk(result)
        assert short.failure
    assert play(seed).failure is None
    assert repeat(short.choices).failure is None


def test_a_failure_is_reported_with_its_seed_its_law_and_a_short_history(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first_write_wins(monkeypatch)
    seed, _ = catch()
    with pytest.raises(AssertionError) as caught:
        check(seed)
    first, second, *history, last = str(caught.value).splitlines()
    assert first.startswith(f"seed {seed} breaks law")
    assert second.startswith("shrunk from")
    assert any("becomes" in line for line in history)
    assert any("BatchWriteItem" in line for line in history)
    choices = last.removeprefix("to repeat it: repeat(").removesuffix(")")
    assert repeat([int(number) for number in choices.strip("[]").split(",")]).failure


def test_shrinking_makes_a_failing_history_much_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    first_write_wins(monkeypatch)
    failing = [result for seed in range(SEEDS // 10) if (result := play(seed)).failure][:3]
    long = [repeat(result.choices) for result in failing]
    short = [shrunk(result) for result in failing]
    assert all(result.failure for result in short)
    chosen = [
        sum(sum(map(bool, trimmed(result.choices))) for result in some) for some in (short, long)
    ]
    assert chosen[0] < chosen[1] / 2
    assert sum(len(result.trace) for result in short) < sum(len(result.trace) for result in long)
    assert "shrunk from" in explain(0, failing[0])


@pytest.mark.slow
def test_a_call_of_a_killed_sync_is_the_limit_that_verify_repairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A sync that is killed over a call, before its in-doubt dead letter, leaves no trace of it."""
    monkeypatch.setattr(Calls, "forgets", False)
    monkeypatch.setattr("tests.simulator.laws.check_the_quiet", lambda _: None)
    seed, result = catch()
    assert "1: the view is the union" in str(result.failure), seed
    monkeypatch.setattr("tests.simulator.history.check_the_end", repair_and_check)
    assert play(seed).failure is None


def repair_and_check(world: World) -> None:
    """Do what `verify --repair` does with an item that differs."""
    for name in world.names:
        deadline = Deadline(world.fibers.now + 60, world.fibers.clock)
        world.live.reconciler.reconcile(world.live.target(name), deadline=deadline)
    check_the_end(world)
