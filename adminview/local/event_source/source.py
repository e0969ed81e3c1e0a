"""An event source mapping on a laptop: one stream, one function, Lambda's rules."""

import time
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from logging import getLogger
from threading import Event
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from adminview.aws.retry import is_transient
from adminview.local.event_source.errors import UnsettledRecordsError
from adminview.local.event_source.invocation import Clock, InvokedFunction, LambdaFunction
from adminview.local.event_source.lane import Lane, OnFailure, RetryDelay, Subscription
from adminview.local.event_source.letter import Address
from adminview.local.event_source.shards import Shard, Stream
from adminview.model.delivery import Delivery

if TYPE_CHECKING:
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient

DISCOVERY_SECONDS = 10.0  # between looks for new shards while none has ended
MAX_CONCURRENCY = 0.0

log = getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class EventSource:
    """Deliver a stream to a handler until stopped. See the package for where it emulates."""

    streams: "DynamoDBStreamsClient"
    stream_arn: str
    handler: LambdaFunction
    on_failure: OnFailure
    delivery: Delivery = field(default_factory=Delivery)
    function_name: str = "adminview-sync"
    timeout_seconds: int = 120
    backoff: RetryDelay = field(default_factory=RetryDelay)
    clock: Clock = time.time
    sleep: Callable[[float], None] = time.sleep
    _lanes: dict[str, Lane] = field(default_factory=dict, init=False, repr=False)
    _over: set[str] = field(default_factory=set, init=False, repr=False)
    _discover_at: float = field(default=MAX_CONCURRENCY, init=False, repr=False)

    def poll(self) -> int:
        """Serve every open shard once, and count the records settled.

        What the stream's API refuses is raised when all shards had their turn.
        """
        self._discover()
        settled = 0
        refused: list[BotoCoreError | ClientError] = []
        for shard_id, lane in tuple(self._lanes.items()):
            try:
                settled += lane.advance()
            except (BotoCoreError, ClientError) as error:
                refused.append(error)
            if lane.over:
                self._over.add(shard_id)
                del self._lanes[shard_id]
                self._discover_at = MAX_CONCURRENCY  # its children may begin
        if refused:
            raise refused[0]
        return settled

    def drain(self, *, idle_passes: int = 2, attempts: int = 25) -> int:
        """Poll until *idle_passes* in a row find nothing, and count the records settled.

        Raise if *attempts* passes in a row settle nothing although records wait.
        """
        settled = idle = vain = 0
        while idle < idle_passes:
            just_now = self.poll()
            settled += just_now
            due = self._due()
            if just_now or self._discover_at == MAX_CONCURRENCY:
                idle = vain = 0
            elif due is None:
                idle += 1
            else:
                idle, vain = 0, vain + 1
                if vain >= attempts:
                    raise self._unsettled(attempts)
                self.sleep(max(0.0, due - self.clock()))
        return settled

    def run(self, stop: Event, *, pause: float = 1.0) -> None:
        """Poll until *stop* is set, with a pause of so many seconds after an empty pass."""
        while not stop.is_set():
            try:
                if self.poll():
                    continue
                due = self._due()
            except (BotoCoreError, ClientError) as error:
                if not is_transient(error):
                    raise
                log.warning("the stream cannot be read now: %s", error)
                due = None
            stop.wait(pause if due is None else min(pause, max(0.0, due - self.clock())))

    def _discover(self) -> None:
        """Open the shards whose parents are settled or gone."""
        if self._lanes and self.clock() < self._discover_at:
            return
        stream = Stream(self.streams, self.stream_arn)
        shards = {shard.id: shard for shard in stream.shards()}
        self._over &= shards.keys()
        for shard in shards.values():
            known = shard.id in self._over or shard.id in self._lanes
            if not known and self._settled(shard.parent, shards):
                self._lanes[shard.id] = self._lane(stream, shard)
        self._discover_at = self.clock() + DISCOVERY_SECONDS

    def _settled(self, parent: str | None, listed: Container[str]) -> bool:
        """Tell whether nothing of *parent* is left to deliver; the stream may have forgotten it."""
        return parent in self._over or (parent not in listed and parent not in self._lanes)

    def _lane(self, stream: Stream, shard: Shard) -> Lane:
        function = InvokedFunction(self.handler, self.function_name, self.timeout_seconds)
        return Lane(
            stream.cursor(shard),
            Address(function.arn, self.stream_arn, shard.id),
            Subscription(function, self.delivery, self.on_failure, self.clock, self.backoff),
        )

    def _due(self) -> float | None:
        """Say when the earliest record at hand is to be delivered."""
        return min(
            (lane.due for lane in self._lanes.values() if lane.due is not None), default=None
        )

    def _unsettled(self, attempts: int) -> UnsettledRecordsError:
        waiting = [lane for lane in self._lanes.values() if lane.due is not None]
        msg = (
            f"{attempts} passes in a row settled nothing, and records wait in "
            f"{', '.join(lane.head for lane in waiting)}"
        )
        error = UnsettledRecordsError(msg)
        error.__cause__ = next((lane.trouble for lane in waiting if lane.trouble), None)
        return error
