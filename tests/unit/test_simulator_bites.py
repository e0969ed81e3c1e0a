"""The simulation bites: what looks harmless and is wrong breaks a law in it, and soon."""

import pytest

from tests.simulator.history import Result, check, explain, play, repeat, shrunk
from tests.simulator.plants import PLANTS, first_write_wins, no_second_read
from tests.simulator.shrink import trimmed

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


def test_a_failure_is_told_with_its_seed_its_law_and_a_short_history(
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
    given = last.removeprefix("to repeat it: repeat(").removesuffix(")")
    assert repeat([int(number) for number in given.strip("[]").split(",")]).failure


def test_shrinking_makes_a_failing_history_much_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    no_second_read(monkeypatch)
    _, result = catch()
    long, short = repeat(result.choices), shrunk(result)
    assert short.failure
    assert sum(map(bool, trimmed(short.choices))) < sum(map(bool, long.choices)) / 2
    assert len(short.trace) < len(long.trace)
    assert "shrunk from" in explain(0, result)
