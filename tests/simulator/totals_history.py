"""One history of totals, from its choices to its result.

The real totals function follows the stream of AdminViewTable, whose shards split. Batches are cut
differently and delivered again, functions die or go on after Lambda gave them up, calls arrive
late, the mapping is replaced, another model is deployed, and days pass. At the end, law 8 must
hold: every total equals the sum of the contributions stored on the rows.

Assumptions about AWS, besides those of `tests.simulator`:

- a record is never delivered for the first time after a later one of its shard;
- nothing is delivered that is older than 24 hours;
- a call takes effect within 300 seconds, or never.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Context, Decimal
from itertools import count
from logging import getLogger
from typing import Any

from adminview.aws import totals_table
from adminview.aws.deadline import Deadline
from adminview.totals import archive, update
from tests.simulator.broken import BrokenLawError, SurpriseError
from tests.simulator.choices import Choices
from tests.simulator.faults import Fault
from tests.simulator.fibers import Fibers, StuckError
from tests.simulator.history import Result, explain
from tests.simulator.totals_pollers import follow, restart, write
from tests.simulator.totals_world import TotalsWorld

EXACT = Context(prec=60)
Amounts = dict[tuple[str, str], dict[str, Decimal]]


def play(seed: int) -> Result:
    """Run the history of a seed."""
    return run(Choices(seed))


def repeat(choices: Sequence[int]) -> Result:
    """Run the history of a list of choices, with a trace."""
    return run(Choices(recorded=choices), trace=True)


def check(seed: int) -> Result:
    """Run the history of a seed; raises an AssertionError with the shortest failing one."""
    result = play(seed)
    if result.failure:
        raise AssertionError(explain(seed, result, repeat))
    return result


def run(choices: Choices, *, trace: bool = False) -> Result:
    """Run a history to its end, and check the law."""
    world = TotalsWorld(choices)
    world.calls.trace = [] if trace else None
    failure = None
    with _simulated(world.fibers):
        try:
            _play(world)
        except BrokenLawError as error:
            failure = f"law {error}"
        except StuckError as error:
            failure = f"law 8: nothing is left to do: {error}"
        except SurpriseError as error:
            failure = f"the code raised {error.__cause__!r}"
    faults = +world.faults.came
    faults[Fault.TIMED_OUT] += world.fibers.timeouts
    return Result(choices.drawn, failure, +faults, world.calls.count, world.calls.trace or [])


def _play(world: TotalsWorld) -> None:
    """Write and deliver until nothing goes on; then deliver all that the stream has once more."""
    world.fibers.spawn("writer", lambda: write(world))
    for shard in world.stream.shards:
        follow(world, shard)
    world.fibers.run()
    check_totals(world)
    world.faults.stop()
    world.is_over = True
    world.fibers.spawn("judge", lambda: restart(world))
    world.fibers.run()
    check_totals(world)


def check_totals(world: TotalsWorld) -> None:
    """Compare each total with what the rows store, and see that an empty one is all zeros."""
    expected = contributed(world)
    for key, item in world.items.items.items():
        amounts = {name: Decimal(value["N"]) for name, value in item.items() if "N" in value}
        amounts.pop("expires", None)
        wanted = expected.pop(key, {})
        if {n: a for n, a in amounts.items() if a} != {n: a for n, a in wanted.items() if a}:
            _break(f"{key} is {_shown(wanted)}, and the table has {_shown(amounts)}")
    if expected:
        _break(f"{sorted(expected)} are missing")


def contributed(world: TotalsWorld) -> Amounts:
    """Add up what the rows store, apart from the code under test."""
    total: Amounts = {}
    for name, row in world.stream.rows.items():
        state = world.states[name]
        if state and state.hostile:
            continue
        for partition, sorts in row.get("_totals", {"M": {}})["M"].items():
            for sort, content in sorts["M"].items():
                amounts = total.setdefault((partition, sort), {})
                for sum_, value in {"count": {"N": "1"}, **content["M"]}.items():
                    amounts[sum_] = EXACT.add(amounts.get(sum_, Decimal()), Decimal(value["N"]))
    return total


def _break(how: str) -> None:
    msg = f"8: every total is the sum of its rows: {how}"
    raise BrokenLawError(msg)


def _shown(amounts: dict[str, Decimal]) -> str:
    return " ".join(f"{name}={amount}" for name, amount in sorted(amounts.items())) or "nothing"


def _tokens() -> Callable[[int], bytes]:
    """Return bytes that never repeat, and are the same in each run of a history."""
    numbers = count()
    return lambda size: next(numbers).to_bytes(size, "big")


@contextmanager
def _simulated(fibers: Fibers) -> Iterator[None]:
    """Run the real code on the simulated clock, in fibers, with calls that hold little."""

    def after(seconds: float, clock: Callable[[], float] = fibers.clock) -> Deadline:
        return Deadline(clock() + seconds, clock)

    stand_ins: list[tuple[Any, str, Any]] = [
        (Deadline, "after", after),
        (totals_table, "map_concurrently", fibers.map_concurrently),
        (totals_table, "CALLS_PER_ROUND", 2),
        (totals_table, "token_bytes", _tokens()),
        (update, "MOST_EXPIRED", 1),
        (archive, "MOST_POSITIONS", 1),
        (archive, "LEAST_MOVED", 1),
        (archive, "DISORDER", 0),  # the times of records are exact here
        (getLogger("adminview.local.event_source.shard_processor"), "disabled", True),
    ]
    real = [(owner, name, owner.__dict__[name]) for owner, name, _ in stand_ins]
    for owner, name, value in stand_ins:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in real:
            setattr(owner, name, value)
