"""A local event source mapping: one stream, one function, Lambda's rules."""

import time
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from logging import getLogger
from threading import Event
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from adminview.aws.retry import is_transient
from adminview.local.event_source.invocation import Clock, InvokedFunction, LambdaFunction
from adminview.local.event_source.on_failure import BatchOrigin
from adminview.local.event_source.shard_processor import (
    OnFailure,
    RetryDelay,
    ShardProcessor,
    Subscription,
)
from adminview.local.event_source.shards import Shard, Stream
from adminview.model.delivery import Delivery
from adminview.model.errors import AdminViewError

if TYPE_CHECKING:
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient

DISCOVERY_SECONDS = 10.0  # between searches for new shards while none has ended
NOW = 0.0

log = getLogger(__name__)


class UnsettledRecordsError(AdminViewError):
    """Records still wait after as many attempts as the caller allowed."""


@dataclass(slots=True, kw_only=True)
class EventSource:
    """Delivers a stream to a handler. The package docstring lists the differences from Lambda."""

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
    _open: dict[str, ShardProcessor] = field(default_factory=dict, init=False, repr=False)
    _over: set[str] = field(default_factory=set, init=False, repr=False)
    _discover_at: float = field(default=NOW, init=False, repr=False)

    def poll(self) -> int:
        """Advance every open shard once, and return the number of settled records.

        An error of the stream's API is raised after all shards had their turn.
        """
        self._discover()
        settled = 0
        refused: list[BotoCoreError | ClientError] = []
        for shard_id, shard in tuple(self._open.items()):
            try:
                settled += shard.advance()
            except (BotoCoreError, ClientError) as error:
                refused.append(error)
            if shard.over:
                self._over.add(shard_id)
                del self._open[shard_id]
                self._discover_at = NOW  # its children may begin
        if refused:
            raise refused[0]
        return settled

    def drain(self, *, idle_passes: int = 2, attempts: int = 25) -> int:
        """Poll until *idle_passes* in a row find nothing, and return the number of settled records.

        Raises an UnsettledRecordsError if *attempts* passes in a row settle nothing although
        records wait.
        """
        settled = idle = failed = 0
        while idle < idle_passes:
            count = self.poll()
            settled += count
            due = self._due()
            if count or self._discover_at == NOW:
                idle = failed = 0
            elif due is None:
                idle += 1
            else:
                idle, failed = 0, failed + 1
                if failed >= attempts:
                    raise self._unsettled(attempts)
                self.sleep(max(0.0, due - self.clock()))
        return settled

    def run(self, stop: Event, *, pause: float = 1.0) -> None:
        """Poll until *stop* is set, and pause so many seconds after an empty pass."""
        while not stop.is_set():
            try:
                if self.poll():
                    continue
                due = self._due()
            except (BotoCoreError, ClientError) as error:
                if not is_transient(error):
                    raise
                log.warning("the stream cannot be read, trying again: %s", error)
                due = None
            stop.wait(pause if due is None else min(pause, max(0.0, due - self.clock())))

    def _discover(self) -> None:
        """Open the shards whose parents are settled or trimmed."""
        if self._open and self.clock() < self._discover_at:
            return
        stream = Stream(self.streams, self.stream_arn)
        shards = {shard.id: shard for shard in stream.shards()}
        self._over &= shards.keys()
        for shard in shards.values():
            known = shard.id in self._over or shard.id in self._open
            if not known and self._settled(shard.parent, shards):
                self._open[shard.id] = self._processor(stream, shard)
        self._discover_at = self.clock() + DISCOVERY_SECONDS

    def _settled(self, parent: str | None, listed: Container[str]) -> bool:
        """Return whether no record of *parent* is left to deliver; it may be trimmed."""
        return parent in self._over or (parent not in listed and parent not in self._open)

    def _processor(self, stream: Stream, shard: Shard) -> ShardProcessor:
        function = InvokedFunction(self.handler, self.function_name, self.timeout_seconds)
        return ShardProcessor(
            stream.cursor(shard),
            BatchOrigin(function.arn, self.stream_arn, shard.id),
            Subscription(function, self.delivery, self.on_failure, self.clock, self.backoff),
        )

    def _due(self) -> float | None:
        """Return when the earliest record that was read is to be delivered."""
        return min(
            (shard.due for shard in self._open.values() if shard.due is not None), default=None
        )

    def _unsettled(self, attempts: int) -> UnsettledRecordsError:
        waiting = [shard for shard in self._open.values() if shard.due is not None]
        msg = (
            f"{attempts} passes in a row completed no record, and records wait in "
            f"{', '.join(shard.head for shard in waiting)}"
        )
        error = UnsettledRecordsError(msg)
        error.__cause__ = next((shard.trouble for shard in waiting if shard.trouble), None)
        return error
