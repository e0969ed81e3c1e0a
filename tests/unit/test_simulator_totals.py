"""Law 8 holds in histories with random faults at every call: see `totals_history`."""

from collections import Counter
from decimal import Decimal

import pytest

from tests.simulator.broken import BrokenLawError
from tests.simulator.choices import Choices
from tests.simulator.faults import COMMON, LATE, OF_TOTALS, Fault
from tests.simulator.history import Result, explain, shrunk
from tests.simulator.totals_history import check, check_totals, contributed, play, repeat
from tests.simulator.totals_model import MODELS, RowState, image
from tests.simulator.totals_plants import PLANTS, no_fence
from tests.simulator.totals_world import TotalsWorld

BLOCKS, BLOCK = 16, 100  # of histories; several tests, so that all cores have their share
SEEDS = 4000  # far more than any of the plants takes


@pytest.mark.parametrize("block", range(BLOCKS))
def test_every_total_is_the_sum_of_its_rows_in_any_history(block: int) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        check(seed)


def test_the_histories_meet_every_kind_of_fault() -> None:
    came: Counter[Fault] = Counter()
    for seed in range(400):
        came += play(seed).faults
    delivery = (Fault.REDELIVERED, Fault.SPLIT, Fault.TIMED_OUT, Fault.BISECTED, Fault.PARTIAL)
    assert set(came) == {*COMMON, *LATE, *OF_TOTALS, *delivery}


def test_the_histories_have_every_model() -> None:
    models = set()
    for seed in range(400):
        models.add(TotalsWorld(Choices(seed)).model)
    assert models == set(MODELS)


def catch() -> tuple[int, Result]:
    """Find the first history that breaks the law."""
    for seed in range(SEEDS):
        result = play(seed)
        if result.failure:
            return seed, result
    raise LookupError


@pytest.mark.parametrize("variant", PLANTS)
def test_a_wrong_variant_is_caught_where_the_product_is_not(variant: str) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        PLANTS[variant](monkeypatch)
        seed, result = catch()
        short = shrunk(result, repeat)
        assert "law 8" in str(short.failure)
    assert play(seed).failure is None
    assert repeat(short.choices).failure is None


def test_a_failure_is_reported_with_its_seed_its_law_and_a_short_history(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    no_fence(monkeypatch)
    seed, result = catch()
    with pytest.raises(AssertionError) as caught:
        check(seed)
    first, second, *history, last = str(caught.value).splitlines()
    assert first.startswith(f"seed {seed} breaks law 8: every total is the sum of its rows")
    assert second.startswith("shrunk from")
    assert any("becomes" in line for line in history)
    assert any("UpdateItem Groups.1/a" in line for line in history)
    repeated = last.removeprefix("to repeat it: tests.simulator.totals_history.repeat(")
    choices = [int(number) for number in repeated.strip("[])").split(",") if number]
    assert repeat(choices).failure
    assert "shrunk from" in explain(seed, result, repeat)


def test_a_seed_is_a_history_and_so_are_its_choices() -> None:
    for seed in range(20):
        first = play(seed)
        again = repeat(first.choices)
        assert (again.choices, again.calls, again.faults) == (
            first.choices,
            first.calls,
            first.faults,
        )


def test_without_choices_nothing_goes_wrong() -> None:
    tame = repeat([])
    assert tame.failure is None
    assert not tame.faults
    assert any("the end of a window" in line for line in tame.trace)


def test_the_judge_compares_each_total_with_what_the_rows_store() -> None:
    world = TotalsWorld(Choices(recorded=[0, 4]))  # five rows
    states = [RowState((("a", Decimal("0.1")), ("b", Decimal(2)))), RowState((("a", Decimal(3)),))]
    for name, state in zip(world.names, [*states, RowState((), {"S": "x"})], strict=False):
        world.states[name] = state
        world.stream.write(name, image(name, state, "plain", 1))
    assert contributed(world) == {
        ("Groups.1", "a"): {"count": 2, "amount": Decimal("3.1")},
        ("Groups.1", "b"): {"count": 1, "amount": 2},
    }
    with pytest.raises(BrokenLawError, match="are missing"):
        check_totals(world)
    for (partition, sort), amounts in contributed(world).items():
        key = {"PK": {"S": partition}, "SK": {"S": sort}}
        numbers = {name: {"N": str(amount)} for name, amount in amounts.items()}
        world.items.items[partition, sort] = key | numbers | {"expires": {"N": "7"}}
    check_totals(world)
    world.items.items["Groups.1", "c"] = {"count": {"N": "0"}, "amount": {"N": "0"}}
    check_totals(world)
    world.items.items["Groups.1", "c"]["amount"] = {"N": "0.1"}
    with pytest.raises(BrokenLawError, match=r"'c'.*nothing, and the table has amount=0.1"):
        check_totals(world)
