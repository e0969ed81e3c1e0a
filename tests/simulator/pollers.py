"""The services that write, and Lambda: one poller per shard, and the real sync."""

from dataclasses import replace
from typing import Any, cast

from adminview.handlers.sync import sync
from adminview.local.event_source.invocation import InvokedFunction, LambdaContext
from adminview.local.event_source.on_failure import BatchOrigin
from adminview.local.event_source.shard_processor import RetryDelay as Rest
from adminview.local.event_source.shard_processor import ShardProcessor, Subscription
from adminview.runtime import Runtime
from tests.simulator.broken import SurpriseError
from tests.simulator.deployment import Deployment
from tests.simulator.faults import Fault
from tests.simulator.fibers import MAX_CONCURRENCY, NEVER, Killed
from tests.simulator.laws import check_the_quiet
from tests.simulator.model import deployed
from tests.simulator.shards import Reader, Shard, SourceStream
from tests.simulator.simulation import World

SYNC_SECONDS = 120
LONGEST_PAUSE = 800.0


class FunctionKilledError(Exception):
    """What Lambda reports of a killed process."""


def serve(world: World) -> None:
    """Write to the sources as their services do; sometimes a shard splits."""
    choices = world.choices
    for _ in range(world.profile.writes):
        name = choices.pick(world.names)
        state = choices.pick([None, *world.states])
        if world.write(name, state):
            world.calls.log_event(f"{name.owner} becomes {state or 'nothing'}")
        stream = world.sources[name.source.name]
        if world.faults.draw("sync", (Fault.SPLIT,)):
            world.calls.log_event(f"the shard of {name.owner} splits")
            for shard in stream.split(name.id):
                follow(world, stream, shard)
        _pause(world, choices.pick(world.profile.pauses))
    for stream in world.sources.values():
        for shard in stream.shards:
            shard.closed = True


def _pause(world: World, seconds: float) -> None:
    """Advance the clock, or wait until an item was read, so that it changes right after that."""
    if seconds >= 0:
        world.fibers.sleep(seconds)
        return
    reads, latest = world.dynamodb.reads, world.fibers.now + LONGEST_PAUSE
    before = reads[seconds]
    world.fibers.wait(lambda: MAX_CONCURRENCY if reads[seconds] > before else latest)


def fix(world: World) -> None:
    """Deploy views that can derive every state."""
    world.fibers.sleep(world.profile.fix_after)
    deployed.fixed = True
    world.calls.log_event("the views are fixed")


def follow(world: World, stream: SourceStream, shard: Shard) -> None:
    """Start to poll a shard."""
    poller = Poller(world, stream, shard)
    begin(world, f"sync {stream.table[0]}{shard.id[-2:]}", poller.run)


def begin(world: World, name: str, run: Any) -> None:
    """Start a fiber that may send dead letters."""

    def and_end() -> None:
        run()
        world.producing -= 1

    world.producing += 1
    world.fibers.spawn(name, and_end)


class Poller:
    """Lambda's poller of one shard, with the rules of the local event source."""

    def __init__(self, world: World, stream: SourceStream, shard: Shard) -> None:
        self._world = world
        self._shard = shard
        self._arn = stream.arn
        self._by = Subscription(
            InvokedFunction(self._invoke, timeout_seconds=SYNC_SECONDS),
            world.profile.delivery,
            world.queue.take_lambdas,
            world.fibers.clock,
            Rest(),
        )
        self._container: tuple[Deployment, Runtime] | None = None
        # Invocations whose in-doubt dead letters only this container has.
        self._unreported: set[int] = set()
        self._go_to(0)

    def run(self) -> None:
        """Deliver the shard from its first record to its last, after its parent."""
        parent = self._shard.parent
        self._world.fibers.wait(lambda: MAX_CONCURRENCY if not parent or parent.drained else NEVER)
        while not self._lane.over:
            self._world.fibers.wait(self._due)
            self._shard.settled += self._lane.advance()
            check_the_quiet(self._world)
            if self._shard.settled and self._world.faults.draw("sync", (Fault.REDELIVERED,)):
                self._go_back()
        self._shard.drained = True

    def _due(self) -> float:
        due = self._lane.due
        if self._reader.closed or (self._reader.more and due is None):
            return due or MAX_CONCURRENCY
        return NEVER if due is None else due

    def _go_to(self, position: int) -> None:
        self._reader = Reader(self._shard, self._arn, position)
        address = BatchOrigin("function", self._arn, self._shard.id)
        self._lane = ShardProcessor(cast("Any", self._reader), address, self._by)

    def _go_back(self) -> None:
        """Lose a checkpoint: the last delivered records are delivered again."""
        again = 1 + self._world.choices.below(min(4, self._shard.settled))
        self._shard.settled -= again
        self._world.calls.log_event(f"the last {again} records are delivered again")
        self._go_to(self._shard.settled)

    def _runtime(self) -> Runtime:
        """Return the runtime of this shard's container, which lasts until it is killed."""
        live = self._world.live
        if self._container is None or self._container[0] is not live:
            self._lose_container()
            self._container = live, replace(live.runtime, in_doubt=[])
        return self._container[1]

    def _lose_container(self) -> None:
        """End a container, with the in-doubt dead letters that the queue refused.

        Nothing reports their calls any more: DESIGN.md states that limit.
        """
        if self._container and self._container[1].in_doubt:
            self._world.fibers.current.root.killed |= self._unreported
        self._container = None
        self._unreported.clear()

    def _invoke(self, event: Any, context: LambdaContext) -> Any:
        """Invoke the real sync in a process that can be killed."""
        world, came = self._world, self._world.faults.came
        sequences = [record["dynamodb"]["SequenceNumber"] for record in event["Records"]]
        world.calls.log_event(f"sync of {' '.join(sequences)}")
        runtime = self._runtime()
        try:
            with world.fibers.invocation(context.deadline):
                answer = sync(event, context, runtime)
                world.calls.step("answer", lambda _: None)
        except Killed as killed:
            self._lose_container()
            came[Fault.BISECTED] += world.profile.delivery.bisect and len(sequences) > 1
            raise FunctionKilledError from killed
        except Exception as error:
            raise SurpriseError from error
        if runtime.in_doubt:
            self._unreported.add(world.fibers.current.root.invocations)
        else:
            self._unreported.clear()
        failures = answer["batchItemFailures"]
        came[Fault.PARTIAL] += bool(failures)
        if failures:
            world.calls.log_event(f"sync requests redelivery from {failures[0]['itemIdentifier']}")
        return answer
