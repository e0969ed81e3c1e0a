"""The simulated system: the real code, connected to the fakes of one history."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from adminview.aws.call_errors import CallErrors
from adminview.aws.dead_letter_producer import DeadLetterProducer
from adminview.aws.retry import Backoff
from adminview.aws.streams import Streams
from adminview.dead_letters.replay_summary import LetterOutcome
from adminview.model.dead_letter import OutgoingLetter
from adminview.sync.counts import BatchCounts
from tests.simulator.calls import Calls
from tests.simulator.choices import Choices
from tests.simulator.deployment import Deployment, deploy
from tests.simulator.faults import Fault, Faults
from tests.simulator.fibers import Fibers
from tests.simulator.model import NAMES, Model, Name, State, draw_states, others, things
from tests.simulator.profile import Profile
from tests.simulator.queue import QUEUE, Queue
from tests.simulator.shards import SourceStream, StreamsClient
from tests.simulator.tables import DynamoDB, ViewRows


class World:
    """Everything in one history."""

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
            for table in (things.name, others.name)
        }
        self.view = ViewRows(self.calls, self.profile.lag_percent)
        self.queue = Queue(self.calls)
        self.busy: Counter[str] = Counter()  # owners that an actor will still repair
        self.ill: set[str] = set()  # owners that were ever in a state that cannot be synced
        self.producing = 0  # fibers that may still send dead letters
        self.workers = itertools.count(1)
        self._connect()

    def _connect(self) -> None:
        """Create the clients that all functions share, and the first deployment."""
        self.backoff = Backoff(self.fibers.sleep, lambda _, longest: longest)
        self.dynamodb = DynamoDB(self.calls, self.view, self.sources, self.profile.lag_percent)
        client = cast("Any", StreamsClient(self.calls, self.sources))
        self.streams = Streams(client, self.backoff)
        self.post = DeadLetterProducer(cast("Any", self.queue), QUEUE, self.backoff)
        self.live: Deployment = deploy(self, Model())

    @property
    def settled(self) -> bool:
        """Return whether no work is left."""
        return not self.producing and not self.queue.letters

    def state_of(self, name: Name) -> State | None:
        """Return the current state of an item."""
        return self.sources[name.source.name].states.get(name.id)

    def write(self, name: Name, state: State | None) -> bool:
        """Let a service write or delete an item, and return whether that changed it."""
        self.note_state(name, state)
        return self.sources[name.source.name].write(name, state)

    def note_state(self, name: Name, state: State | None) -> None:
        """Record an item that cannot be synced."""
        if state and state.ill:
            self.ill.add(name.owner)

    def invoked(self, request_id: str) -> None:
        """Record an invocation."""

    def synced(
        self, counts: BatchCounts, letters: Sequence[OutgoingLetter], errors: CallErrors
    ) -> None:
        """Record the result of a batch."""
        del counts, errors
        self.faults.came[Fault.POISONED] += sum(letter.sequence is not None for letter in letters)

    def replayed(self, summary: Mapping[str, Any]) -> None:
        """Record the result of a replay."""
        self.faults.came[Fault.FAILED_REPLAY] += summary["outcomes"][LetterOutcome.FAILING]
        for reason, count in summary["reasons"].items():
            self.faults.came[Fault.MOVING] += count * reason.startswith("MovingItemError")
