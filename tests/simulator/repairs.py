"""Everything that reconciles: replays of dead letters, and an operator."""

from typing import Any, cast

from adminview.aws.deadline import Deadline
from adminview.handlers.replay import replay as handle
from adminview.local.event_source.invocation import InvokedFunction, LambdaContext
from adminview.model.delivery import REPLAY_SECONDS
from adminview.model.errors import AdminViewError, ServiceError
from tests.simulator.broken import SurpriseError
from tests.simulator.fibers import MAX_CONCURRENCY, Killed
from tests.simulator.laws import check_the_quiet
from tests.simulator.simulation import World
from tests.simulator.tables import LAG_SECONDS

REPLAY = InvokedFunction(lambda *_: None, "adminview-replay", REPLAY_SECONDS)
OPERATOR_SECONDS = 60
LATER = (0.0, 0.0, 5.0, 60.0, 700.0)


def replay(world: World) -> None:
    """Replay dead letters from time to time, until none will be sent any more."""
    fibers = world.fibers
    while True:
        fibers.wait(lambda: MAX_CONCURRENCY if world.settled else world.queue.due)
        if world.settled:
            return
        fibers.sleep(world.choices.pick(world.profile.replay_pauses))
        replay_once(world)
        check_the_quiet(world)


def replay_once(world: World) -> None:
    """Run one invocation of the real replay, which can be killed."""
    context = LambdaContext.of(REPLAY, world.fibers.clock)
    try:
        with world.fibers.invocation(context.deadline):
            handle({}, context, world.live.replayer, cast("Any", world))
    except (Killed, ServiceError) as error:
        world.calls.log_event(f"the replay ends: {type(error).__name__}")
    except Exception as error:
        raise SurpriseError from error


def operate(world: World) -> None:
    """Reconcile an item as an operator does; repeat it a minute later if it fails."""
    fibers = world.fibers
    fibers.sleep(world.choices.pick(LATER))
    name = world.choices.pick(world.names)
    world.busy[name.owner] += 1
    done = False
    while not done:
        deadline, live = Deadline(fibers.now + OPERATOR_SECONDS, fibers.clock), world.live
        try:
            with fibers.invocation(deadline.at + 10):
                live.reconciler.reconcile(live.target(name), deadline=deadline)
                done = True
        except (Killed, AdminViewError) as error:
            world.calls.log_event(f"the reconcile ends: {type(error).__name__}")
            fibers.sleep(LAG_SECONDS + 5)
    world.busy[name.owner] -= 1
    check_the_quiet(world)
