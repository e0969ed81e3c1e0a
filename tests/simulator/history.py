"""One history, from its choices to its result."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from logging import getLogger
from typing import Any

from adminview.aws import batch_writers as writers
from adminview.aws import table_scanner, view_table
from adminview.aws.deadline import Deadline
from adminview.bulk import backfill as backfilling
from adminview.bulk import sweep, worker
from adminview.dead_letters import replay as replayer
from adminview.reconcile import reconciler as reconcile
from tests.simulator import repairs
from tests.simulator.broken import BrokenLawError, SurpriseError
from tests.simulator.change import backfill, begin_with_items, change_model, promise
from tests.simulator.choices import Choices
from tests.simulator.faults import Fault
from tests.simulator.fibers import Fibers, StuckError
from tests.simulator.laws import check_the_end
from tests.simulator.model import deployed
from tests.simulator.pollers import begin, fix, follow, serve
from tests.simulator.shrink import shrink, trimmed
from tests.simulator.simulation import World


@dataclass(slots=True)
class Result:
    """The result of a history."""

    choices: list[int]
    failure: str | None = None
    faults: Counter[Fault] = field(default_factory=Counter)
    calls: int = 0
    trace: list[str] = field(default_factory=list)


Repeat = Callable[[Sequence[int]], Result]


def play(seed: int) -> Result:
    """Run the history of a seed."""
    return run(Choices(seed))


def repeat(choices: Sequence[int]) -> Result:
    """Run the history of a list of choices, with a trace."""
    return run(Choices(recorded=choices), trace=True)


def run(choices: Choices, *, trace: bool = False) -> Result:
    """Run a history to its end, and check the laws."""
    deployed.fixed = False
    world = World(choices)
    world.calls.trace = [] if trace else None
    failure = None
    with _simulated(world.fibers):
        try:
            _play(world)
        except BrokenLawError as error:
            failure = f"law {error}"
        except StuckError as error:
            failure = f"law 1: every history ends: {error}"
        except SurpriseError as error:
            failure = f"the code raised {error.__cause__!r}"
    faults = +world.faults.came
    faults[Fault.TIMED_OUT] += world.fibers.timeouts
    return Result(choices.drawn, failure, +faults, world.calls.count, world.calls.trace or [])


def check(seed: int) -> Result:
    """Run the history of a seed; if it breaks a law, report the shortest history that does."""
    result = play(seed)
    if result.failure:
        raise AssertionError(explain(seed, result))
    return result


def shrunk(result: Result, again: Repeat = repeat) -> Result:
    """Find a shorter history that also breaks a law; *again* runs a list of choices."""

    def failing(choices: list[int]) -> list[int] | None:
        repeated = again(choices)
        return repeated.choices if repeated.failure else None

    return again(shrink(result.choices, failing))


def explain(seed: int, result: Result, again: Repeat = repeat) -> str:
    """Describe a failure: its seed, the law, and the trace of the shortest history."""
    short = shrunk(result, again)
    module = "" if again is repeat else f"{again.__module__}."
    lines = [
        f"seed {seed} breaks {result.failure}",
        f"shrunk from {len(result.choices)} choices to {len(short.choices)}: {short.failure}",
        *short.trace,
        f"to repeat it: {module}repeat({trimmed(short.choices)})",
    ]
    return "\n".join(lines)


def _play(world: World) -> None:
    """Start all actors of a history, and run until all have ended."""
    profile = world.profile
    changed_after = profile.change_after
    if profile.backfill or changed_after is not None:
        begin_with_items(world, synced=not profile.backfill)
    if profile.backfill:
        promised = promise(world)
        begin(world, "bulk backfill", lambda: backfill(world, promised))
    if changed_after is not None:
        begin(world, "bulk change", lambda: change_model(world, changed_after))
    begin(world, "services", lambda: serve(world))
    begin(world, "developers", lambda: fix(world))
    for stream in world.sources.values():
        follow(world, stream, stream.shards[0])
    for number in range(world.profile.operators):
        begin(world, f"operator {number}", lambda: repairs.operate(world))
    for number in range(world.profile.replays):
        world.fibers.spawn(f"replay {number}", lambda: repairs.replay(world))
    world.fibers.run()
    world.faults.stop()
    world.fibers.spawn("judge", lambda: check_the_end(world))
    world.fibers.run()


@contextmanager
def _simulated(fibers: Fibers) -> Iterator[None]:
    """Run the real code on the simulated clock, in fibers, with small calls."""

    def after(seconds: float, clock: Callable[[], float] = fibers.clock) -> Deadline:
        return Deadline(clock() + seconds, clock)

    stand_ins: list[tuple[Any, str, Any]] = [
        (Deadline, "after", after),
        (writers, "map_concurrently", fibers.map_concurrently),
        (backfilling, "map_concurrently", fibers.map_concurrently),
        (sweep, "map_concurrently", fibers.map_concurrently),
        (replayer, "map_concurrently", fibers.map_concurrently),
        (view_table, "BATCH_LIMIT", 2),
        (table_scanner, "READ_LIMIT", 3),
        (reconcile, "ROUNDS", 2),
        (worker, "RECOVER_BATCH", 1),
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
