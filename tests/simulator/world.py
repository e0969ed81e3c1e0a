"""A small world: the real code, connected to the stand-ins of one history."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from lambdas.aws.dead_letters import DeadLetters
from lambdas.aws.mailbox import Mailbox
from lambdas.aws.owned_rows import OwnedRows
from lambdas.aws.retry import Backoff
from lambdas.aws.runtime import Runtime
from lambdas.aws.source_tables import SourceTables
from lambdas.aws.streams import Streams
from lambdas.aws.view_table import ViewTable
from lambdas.pipeline.decode import routes
from lambdas.pipeline.letter import Letter
from lambdas.pipeline.tally import Tally
from lambdas.repair.reconcile import Reconciler
from lambdas.repair.replay.errands import Errands
from lambdas.repair.replay.replayer import Fate, Replayer
from lambdas.repair.target import Target
from tests.fakes import TABLE
from tests.simulator.calls import Calls
from tests.simulator.choices import Choices
from tests.simulator.faults import Fault, Faults
from tests.simulator.fibers import Fibers
from tests.simulator.model import NAMES, Name, State, draw_states, make_registry
from tests.simulator.profile import Profile
from tests.simulator.queue import QUEUE, Queue
from tests.simulator.shards import SourceStream, StreamsClient
from tests.simulator.tables import DynamoDB, ViewRows

MODEL = "model-1"
ROUTES = routes(make_registry(), {})


class World:
    """Everything there is in one history."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.profile = Profile.draw(choices)
        self.fibers = Fibers(choices)
        self.fibers.switch_percent = self.profile.switch_percent
        self.fibers.skip_percent = self.profile.skip_percent
        self.faults = Faults(choices, self.profile)
        self.calls = Calls(self.fibers, choices, self.faults)
        self.names: tuple[Name, ...] = NAMES[: self.profile.items]
        self.states = draw_states(
            choices, self.profile.poison_percent, self.profile.refused_percent
        )
        self.sources = {
            table: SourceStream(self.fibers, table, {n.id for n in NAMES if n.source.name == table})
            for table in ROUTES
        }
        self.view = ViewRows(self.calls, self.profile.lag_percent)
        self.queue = Queue(self.calls)
        self.busy: Counter[str] = Counter()  # owners that somebody has promised to put right
        self.ill: set[str] = set()  # owners that ever were in a state that could not be synced
        self.producing = 0  # fibers that may still make work for the replays
        self._connect()

    def _connect(self) -> None:
        """Make what the Lambda functions make when they start."""
        backoff = Backoff(self.fibers.sleep, lambda _, longest: longest)
        self.dynamodb = DynamoDB(self.calls, self.view, self.sources)
        dynamodb = cast("Any", self.dynamodb)
        queue = cast("Any", self.queue)
        streams = Streams(cast("Any", StreamsClient(self.calls, self.sources)), backoff)
        self.post = DeadLetters(queue, QUEUE, backoff)
        self.runtime = Runtime(
            ROUTES, MODEL, ViewTable(dynamodb, TABLE, backoff), self.post, self, self.fibers.clock
        )
        self.items = SourceTables(dynamodb, backoff)
        rows = OwnedRows(dynamodb, TABLE, backoff)
        self.reconciler = Reconciler(self.items, rows, MODEL, self.fibers.clock)
        self.replayer = Replayer(
            errands=Errands(ROUTES, streams),
            reconciler=self.reconciler,
            mailbox=Mailbox(queue, QUEUE, backoff, wait_seconds=0),
            post=self.post,
            retry_seconds=int(self.queue.next_try),
            now=self.fibers.clock,
        )

    @property
    def settled(self) -> bool:
        """Tell whether there is nothing left to do."""
        return not self.producing and not self.queue.letters

    def state_of(self, name: Name) -> State | None:
        """Say which state an item is in now."""
        return self.sources[name.source.name].states.get(name.id)

    def write(self, name: Name, state: State | None) -> bool:
        """Let a service write or delete an item, and tell whether that changed anything."""
        self.note_state(name, state)
        return self.sources[name.source.name].write(name, state)

    def note_state(self, name: Name, state: State | None) -> None:
        """Remember who was ever ill."""
        if state and state.ill:
            self.ill.add(name.owner)

    def target(self, name: Name, rows: Collection[tuple[str, str]] = ()) -> Target:
        """Name an item to the reconciler."""
        return Target(ROUTES[name.source.name], name.key, frozenset(rows))

    def invoked(self, context: Any) -> None:
        """Hear of an invocation."""

    def synced(self, tally: Tally, letters: Sequence[Letter], trouble: Collection[str]) -> None:
        """Hear what a batch came to."""
        del tally, trouble
        self.faults.came[Fault.POISONED] += len(letters)

    def replayed(self, summary: Mapping[str, Any]) -> None:
        """Hear what a replay came to."""
        self.faults.came[Fault.FAILED_REPLAY] += summary["fates"][Fate.FAILING]
        for reason, count in summary["reasons"].items():
            self.faults.came[Fault.MOVING] += count * reason.startswith("MovingItemError")
