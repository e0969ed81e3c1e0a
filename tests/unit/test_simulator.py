"""The laws hold in histories with random faults at every call: see `tests.simulator`."""

from collections import Counter
from typing import Any

import pytest

from adminview.bulk.completions import CompletionMarkers
from tests.simulator.choices import Choices
from tests.simulator.deployment import deploy
from tests.simulator.faults import OF_TOTALS, Fault
from tests.simulator.fibers import Fibers, Killed, StuckError
from tests.simulator.history import check, play, repeat
from tests.simulator.model import Model
from tests.simulator.shrink import shrink
from tests.simulator.simulation import World
from tests.simulator.soak import BLOCK, Sum, main, play_block

BLOCKS = 32  # of 100 histories; several tests, so that all cores have their share


@pytest.mark.parametrize("block", range(BLOCKS))
def test_the_laws_hold_in_any_history(block: int) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        check(seed)


def test_the_histories_meet_every_kind_of_fault() -> None:
    came: Counter[Fault] = Counter()
    for seed in range(600):
        came += play(seed).faults
    assert set(Fault) - set(OF_TOTALS) == set(came)


def test_completion_markers_are_invalidated_before_other_code_is_deployed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a plan does: or a worker of the old model could end a run of the new one."""
    done: list[str] = []
    invalidate = CompletionMarkers.invalidate

    def spoiled(progress: CompletionMarkers, *arguments: Any, model: str) -> None:
        invalidate(progress, *arguments, model=model)
        done.append(f"spoiled for {model}")

    def deployed(world: World, model: Model) -> Any:
        done.append(f"deployed {model.name}")
        return deploy(world, model)

    monkeypatch.setattr(CompletionMarkers, "invalidate", spoiled)
    monkeypatch.setattr("tests.simulator.change.deploy", deployed)
    changes = 0
    for seed in range(60):
        done.clear()
        changes += play(seed).faults[Fault.REDEPLOYED]
        models = [line.removeprefix("deployed ") for line in done[1::2]]
        assert done[::2] == [f"spoiled for {name}" for name in models]
    assert changes > 5


def test_a_seed_is_a_history() -> None:
    first, other = play(7), play(7)
    assert (first.choices, first.faults, first.calls) == (other.choices, other.faults, other.calls)
    assert first.choices != play(8).choices


def test_the_choices_of_a_history_repeat_it() -> None:
    for seed in range(20):
        first = play(seed)
        again = repeat(first.choices)
        assert (again.choices, again.calls) == (first.choices, first.calls)
        assert repeat(first.choices).trace == again.trace


def test_without_choices_nothing_goes_wrong() -> None:
    tame = repeat([])
    assert tame.failure is None
    assert not tame.faults


def test_choices_that_are_too_high_or_missing_are_still_choices() -> None:
    choices = Choices(recorded=[9, 1])
    assert [choices.below(3), choices.below(2), choices.below(5)] == [2, 1, 0]
    assert choices.drawn == [2, 1, 0]


def test_shrinking_leaves_only_what_fails() -> None:
    def failing(choices: list[int]) -> list[int] | None:
        return choices if any(number >= 5 for number in choices) else None

    assert shrink([0, 3, 9, 2, 0, 7, 1, 1, 0, 4], failing) == [5]


def test_shrinking_ends_when_its_runs_are_used_up() -> None:
    runs = []

    def failing(choices: list[int]) -> list[int]:
        runs.append(choices)
        return choices

    shrink([1] * 1000, failing, runs=3)
    assert len(runs) <= 3


def test_time_passes_when_nobody_can_go_on() -> None:
    fibers = Fibers(Choices())
    seen = []

    def wait(seconds: float) -> None:
        fibers.sleep(seconds)
        seen.append(seconds)

    for seconds in (50.0, 10.0):
        fibers.spawn("one", lambda seconds=seconds: wait(seconds))  # type: ignore[misc]
    start = fibers.now
    fibers.run()
    assert seen == [10.0, 50.0]
    assert fibers.now == start + 50


def test_what_an_invocation_began_dies_with_it() -> None:
    fibers = Fibers(Choices())
    seen: list[str] = []

    def work(name: str) -> None:
        fibers.pause()
        if name == "b":
            fibers.kill()
        try:
            fibers.sleep(10)
        finally:
            seen.append(name)
            fibers.pause()  # a call in a process that is gone
            seen.append("a call after death")

    def invoke() -> None:
        try:
            with fibers.invocation(fibers.now + 100):
                fibers.map_concurrently(work, ["a", "b", "c"])
        except Killed:
            seen.append("killed")

    fibers.spawn("invocation", invoke)
    fibers.run()
    assert seen[-1] == "killed"
    assert "a call after death" not in seen


def test_an_invocation_that_takes_too_long_is_killed() -> None:
    fibers = Fibers(Choices())
    seen: list[str] = []

    def invoke() -> None:
        try:
            with fibers.invocation(fibers.now + 5):
                fibers.sleep(6)
        except Killed:
            seen.append("killed")

    fibers.spawn("invocation", invoke)
    fibers.run()
    assert seen == ["killed"]
    assert fibers.timeouts == 1


def test_a_history_in_which_no_fiber_can_go_on_is_reported() -> None:
    fibers = Fibers(Choices())
    fibers.spawn("the one who waits", lambda: fibers.wait(float("inf")))
    with pytest.raises(StuckError, match="the one who waits"):
        fibers.run()


def test_a_soak_adds_up_what_it_survived() -> None:
    total = Sum()
    total.add(play_block(0))
    total.add(play_block(BLOCK))
    assert total.histories == 2 * 2 * BLOCK  # of rows, and of totals
    assert set(OF_TOTALS) <= set(total.faults)
    assert total.failure is None
    assert f"{total.faults.total():,} faults survived" in str(total)


def test_a_soak_of_no_time_says_where_it_would_have_begun(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--minutes", "0", "--seed", "5"]) == 0
    assert "from seed 5 on" in capsys.readouterr().out
