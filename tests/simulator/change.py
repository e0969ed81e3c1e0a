"""Items that exist before the view, and a model change with backfills and a final sweep."""

from typing import Any, cast

from adminview.bulk.completions import CompletionMarkers
from adminview.bulk.lease_table import LeaseTable
from adminview.bulk.runs import BACKFILL, EVERYTHING, SWEEP
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
DRAIN_SECONDS = REPLAY_SECONDS  # the longest time that an invocation of the old code can run


def begin_with_items(world: World, *, synced: bool) -> None:
    """Create items before the history begins; with *synced*, also their rows."""
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
    """Expect the backfill to repair all existing items, and return their owners."""
    promised = [name.owner for name in world.names if world.state_of(name)]
    world.busy.update(promised)
    return promised


def backfill(world: World, promised: list[str]) -> None:
    """Backfill the view from the existing items."""
    world.fibers.sleep(world.choices.pick((0.0, 1.0, 50.0)))
    build(world)
    world.busy.subtract(promised)
    check_the_quiet(world)


def change_model(world: World, after: float) -> None:
    """Deploy another model, wait for the old code to end, backfill, and sweep.

    Some changes are taken back halfway: then all this is done for the previous model.
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
        world.calls.log_event(f"{before} is deployed again, before any row was backfilled")
    world.fibers.sleep(DRAIN_SECONDS)
    build(world)
    sweep(world)
    world.busy.subtract(promised)
    check_the_quiet(world)


def invalidate(world: World, model: Model) -> None:
    """Invalidate the runs of the old model until it succeeds, as a plan does before it deploys."""
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
    """Write the rows that the model derives from the existing items."""
    for source in world.sources:
        complete(world, f"{BACKFILL}/{source}")


def sweep(world: World) -> None:
    """Remove the rows that the old model left."""
    complete(world, f"{SWEEP}/{EVERYTHING}")


def complete(world: World, run: str) -> None:
    """Carry out a run, again if another run was begun meanwhile, as older code may do.

    `apply` ends with an error then, and what is not built is part of the next plan.
    """
    live = world.live
    Run(world, live, run).carry_out()
    while world.live is live and world.dynamodb.progress.completed_by(run) != live.model.name:
        Run(world, live, run).carry_out()
