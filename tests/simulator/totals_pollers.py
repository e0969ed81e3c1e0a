"""Those who write rows, and Lambda: one poller per shard, and the real totals function."""

from typing import Any, cast

from adminview.handlers.totals import add_up
from adminview.local.event_source.event import event
from adminview.local.event_source.invocation import InvokedFunction, LambdaContext
from adminview.local.event_source.on_failure import BatchOrigin, no_destination
from adminview.local.event_source.shard_processor import (
    RetryDelay,
    ShardProcessor,
    Subscription,
)
from adminview.local.event_source.window import Window
from adminview.model.errors import ServiceError
from tests.simulator.broken import SurpriseError
from tests.simulator.faults import Fault
from tests.simulator.fibers import MAX_CONCURRENCY, NEVER, Killed
from tests.simulator.pollers import FunctionKilledError
from tests.simulator.shards import Shard
from tests.simulator.totals_model import MODELS, draw_state, image
from tests.simulator.totals_profile import HOUR
from tests.simulator.totals_stream import ARN, LaneReader, as_delivered
from tests.simulator.totals_world import TotalsWorld

STALLS = (700.0, 2000.0)  # seconds, that Lambda does not read a shard
NOTICED_AFTER = (0.0, 1.0, 60.0)  # seconds, until Lambda gives up an invocation that goes on


def write(world: TotalsWorld) -> None:
    """Write rows, as all who write the view do; let shards split, and the model change."""
    choices, profile = world.choices, world.profile
    for number in range(profile.writes):
        if number == profile.change_after:
            change_model(world)
        name = choices.pick(world.names)
        state = draw_state(choices, profile.groups, profile.malformed_percent)
        _put(world, name, state, number)
        if world.faults.draw("writer", (Fault.SPLIT,)):
            world.calls.log_event(f"the shard of {name} splits")
            for shard in world.stream.split(name):
                follow(world, shard)
        if world.faults.draw("writer", (Fault.RESTARTED,)):
            restart(world)
        _pause(world, choices.pick(profile.pauses))
    world.fibers.wait(lambda: NEVER if world.backfills else MAX_CONCURRENCY)
    for shard in world.stream.shards:
        shard.closed = True


def _put(world: TotalsWorld, name: str, state: Any, version: int) -> None:
    row = None if state is None else image(name, state, world.model, version)
    if world.stream.write(name, row):
        world.calls.log_event(f"{name} becomes {state or 'nothing'} of {world.model}")
    world.states[name] = state


def change_model(world: TotalsWorld) -> None:
    """Write rows by another model from now on, and rewrite all others."""
    world.model = world.choices.pick([*MODELS])
    world.calls.log_event(f"the model is {world.model}")
    world.backfills += 1

    def backfill() -> None:
        for number, name in enumerate(world.names, 1000):
            world.fibers.sleep(world.choices.pick((0.0, 1.0, 30.0)))
            if world.states.get(name):
                _put(world, name, world.states[name], number)
        world.backfills -= 1

    world.fibers.spawn("backfill", backfill)


def _pause(world: TotalsWorld, seconds: float) -> None:
    """Let time pass; hours only when all records are delivered, or the stream would lose them."""
    if seconds >= HOUR:
        world.fibers.wait(lambda: MAX_CONCURRENCY if is_idle(world) else NEVER)
        world.calls.log_event(f"{seconds / HOUR:.0f} hours pass")
    world.fibers.sleep(seconds)
    world.delete_expired()


def is_idle(world: TotalsWorld) -> bool:
    """Tell whether all that was written is delivered, and no invocation goes on."""
    idle = all(lane.is_idle for lane in world.lanes)
    return idle and not world.busy and not world.backfills


def restart(world: TotalsWorld) -> None:
    """Replace the event source mapping: all that the stream still has is delivered again."""
    world.calls.log_event("the mapping is created again")
    world.mapping += 1
    world.lanes.clear()
    for shard in world.stream.shards:
        shard.drained = False
    for shard in [*world.stream.shards]:
        follow(world, shard)


def follow(world: TotalsWorld, shard: Shard) -> None:
    """Begin to poll a shard: with as many batches at once as the mapping says."""
    lanes = world.profile.delivery.parallelization
    mapping = [Lane(world, shard, lane, lanes) for lane in range(lanes)]
    world.lanes += mapping
    for lane in mapping:
        world.fibers.spawn(f"totals {shard.id[-2:]}", lambda lane=lane: lane.run(mapping))  # type: ignore[misc]


class Lane:
    """Lambda's poller of one shard, or of a part: the rules are those of the local event source."""

    def __init__(self, world: TotalsWorld, shard: Shard, lane: int, lanes: int) -> None:
        self._world = world
        self._shard = shard
        self._mapping = world.mapping
        self._lane, self._lanes = lane, lanes
        self._by = Subscription(
            InvokedFunction(self._invoke, timeout_seconds=world.profile.timeout),
            world.profile.delivery,
            no_destination,
            world.fibers.clock,
            RetryDelay(),
        )
        self._go_to(world.stream.oldest(LaneReader(shard, lane, lanes).records))
        self.done = False

    def run(self, lanes: "list[Lane]") -> None:
        """Deliver the shard from its first record to its last, after its parent."""
        world, parent = self._world, self._shard.parent
        world.fibers.wait(
            lambda: MAX_CONCURRENCY if self._is_replaced or not parent or parent.drained else NEVER
        )
        while not self._is_replaced and not self._processor.over:
            world.fibers.wait(self._due)
            if world.faults.draw("totals", (Fault.STALLED,)):
                world.fibers.sleep(world.choices.pick(STALLS))
            if self._is_replaced:
                break
            self._settled += self._processor.advance()
            if self._settled and world.faults.draw("totals", (Fault.REDELIVERED,)):
                self._go_back()
            if self._settled and world.faults.draw("totals", (Fault.REPEATED,)):
                self._repeat()
        self.done = True
        if not self._is_replaced and all(lane.done for lane in lanes):
            self._shard.drained = True

    @property
    def is_idle(self) -> bool:
        """Tell whether all records so far are delivered."""
        return self._settled == len(self._reader.records)

    @property
    def _is_replaced(self) -> bool:
        return self._mapping != self._world.mapping

    def _due(self) -> float:
        if self._is_replaced:
            return MAX_CONCURRENCY
        due = self._processor.due
        if self._reader.closed or (self._reader.more and due is None):
            return due or MAX_CONCURRENCY
        window = self._processor._window
        ends = window.end if window else NEVER
        return ends if due is None else due

    def _go_to(self, position: int) -> None:
        self._settled = position
        self._reader = LaneReader(self._shard, self._lane, self._lanes)
        self._reader.position = position
        address = BatchOrigin("function", ARN, self._shard.id)
        self._processor = ShardProcessor(cast("Any", self._reader), address, self._by)

    def _kept(self) -> int:
        """Return the first of the delivered records that the stream still has."""
        return min(self._world.stream.oldest(self._reader.records), self._settled)

    def _go_back(self) -> None:
        """Forget a checkpoint: the end of what was delivered comes again."""
        again = self._settled - self._kept()
        if again:
            again = 1 + self._world.choices.below(again)
            self._world.calls.log_event(f"the last {again} records come again")
            self._go_to(self._settled - again)

    def _repeat(self) -> None:
        """Deliver some old records again, while the others go on."""
        world, first = self._world, self._kept()
        if first == self._settled:
            return
        start = first + world.choices.below(self._settled - first)
        end = start + 1 + world.choices.below(self._settled - start)
        records = [as_delivered(record) for record in self._reader.records[start:end]]
        window = Window.of(records[0], self._by.delivery.tumbling_seconds)
        content = {**event(records), **window.fields(self._shard.id, ARN)}
        world.calls.log_event(f"records {start} to {end} come again, out of order")
        self._detach(content)

    def _detach(self, content: dict[str, Any]) -> None:
        """Invoke the function without waiting for it."""
        world = self._world
        context = LambdaContext.of(self._by.function, world.fibers.clock)
        world.busy += 1

        def run() -> None:
            try:
                self._run(content, context)
            except (FunctionKilledError, ServiceError):
                pass
            finally:
                world.busy -= 1

        world.fibers.spawn(f"totals {self._shard.id[-2:]} alone", run)

    def _invoke(self, content: dict[str, Any], context: LambdaContext) -> Any:
        """Invoke the real function in a process that can be killed, or given up."""
        world = self._world
        sequences = [int(record["dynamodb"]["SequenceNumber"]) for record in content["Records"]]
        world.calls.log_event(f"totals of {sequences or 'the end of a window'}")
        if world.faults.draw("totals", (Fault.DETACHED,)):
            world.calls.log_event("Lambda gives it up, but it goes on")
            self._detach(content)
            world.fibers.sleep(world.choices.pick(NOTICED_AFTER))
            raise FunctionKilledError
        answer = self._run(content, context)
        if answer["batchItemFailures"]:
            world.faults.came[Fault.PARTIAL] += 1
        return answer

    def _run(self, content: dict[str, Any], context: LambdaContext) -> Any:
        world = self._world
        try:
            with world.fibers.invocation(context.deadline):
                answer = add_up(content, context, world.runtime)
                world.calls.step("answer", lambda _: None)
        except Killed as killed:
            world.faults.came[Fault.BISECTED] += len(content["Records"]) > 1
            raise FunctionKilledError from killed
        except ServiceError:
            raise
        except Exception as error:
            raise SurpriseError from error
        return answer
