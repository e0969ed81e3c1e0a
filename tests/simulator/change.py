"""Data that was there before, and a model that changes: backfills, and a sweep at the end."""

from typing import Any, cast

from adminview.bulk.lease_table import LeaseTable
from adminview.bulk.runs import BACKFILL, EVERYTHING, SWEEP
from adminview.cli.deployment.completions import CompletionMarkers
from adminview.model.delivery import REPLAY_SECONDS
from adminview.model.errors import ServiceError
from adminview.reconcile.expected_rows import expected_rows
from tests.simulator.bulk import RETRY_SECONDS, Run
from tests.simulator.deployment import deploy
from tests.simulator.faults import Fault
from tests.simulator.fibers import Killed
from tests.simulator.laws import check_the_quiet
from tests.simulator.model import Model, draw_model
from tests.simulator.progress import PROGRESS
from tests.simulator.simulation import World

PLANNER, SPOIL_SECONDS = "a plan", 300.0
DRAIN_SECONDS = REPLAY_SECONDS  # the longest that an invocation of the old code goes on


def begin_with_items(world: World, *, synced: bool) -> None:
    """Let items be there at the beginning; if *synced*, with their rows."""
    states = [state for state in world.states if not (synced and state.ill)]
    for name in world.names:
        state = world.choices.pick([*states, None])
        world.note_state(name, state)
        if state is None:
            continue
        world.sources[name.source.name].begin_with(name, state)
        if synced:
            live, at = world.live, world.fibers.now
            route = live.routes[name.source.name]
            for row in expected_rows(
                route, name.owner, name.image(state), at, live.model.name
            ).values():
                world.view.put(row)
    pasts = [world.view.past, *(source.past for source in world.sources.values())]
    for past in pasts:
        past.settle()


def promise(world: World) -> list[str]:
    """Promise to put right all items that are there."""
    promised = [name.owner for name in world.names if world.state_of(name)]
    world.busy.update(promised)
    return promised


def backfill(world: World, promised: list[str]) -> None:
    """Fill the view from the items that are there."""
    world.fibers.sleep(world.choices.pick((0.0, 1.0, 50.0)))
    build(world)
    world.busy.subtract(promised)
    check_the_quiet(world)


def change_model(world: World, after: float) -> None:
    """Deploy another model, wait for the old code to end, build its rows, sweep the old ones.

    Now and then it is taken back halfway: then that is done for the model that was before.
    """
    before, model = world.live.model, draw_model(world.choices)
    world.fibers.sleep(after)
    promised = [name.owner for name in world.names]
    world.busy.update(promised)
    invalidate(world, model)
    world.live = deploy(world, model)
    world.faults.came[Fault.REDEPLOYED] += 1
    world.calls.log_event(f"{model} is deployed")
    if world.profile.taken_back:
        world.fibers.sleep(world.choices.pick((0.0, 40.0, 500.0)))
        invalidate(world, before)
        world.live = deploy(world, before)
        world.calls.log_event(f"{before} is deployed again, before any row was built")
    world.fibers.sleep(DRAIN_SECONDS)
    build(world)
    sweep(world)
    world.busy.subtract(promised)
    check_the_quiet(world)


def invalidate(world: World, model: Model) -> None:
    """Let no run of the old model go on or count, as a plan does before it deploys; insist."""
    client, now = cast("Any", world.dynamodb), world.fibers.clock
    table = LeaseTable(client, PROGRESS, world.backoff, now, PLANNER)
    while True:
        try:
            with world.fibers.invocation(world.fibers.now + SPOIL_SECONDS, PLANNER):
                CompletionMarkers(table, now).invalidate(
                    world.sources, world.sources, (), model=model.name
                )
        except (Killed, ServiceError):
            world.fibers.sleep(RETRY_SECONDS)
        else:
            return


def build(world: World) -> None:
    """Write the rows that the model has for the items that are there."""
    live = world.live
    for source in world.sources:
        Run(world, live, f"{BACKFILL}/{source}").carry_out()


def sweep(world: World) -> None:
    """Remove the rows that the old model left."""
    Run(world, world.live, f"{SWEEP}/{EVERYTHING}").carry_out()
