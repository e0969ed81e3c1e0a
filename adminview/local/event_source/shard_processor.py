"""Deliver one shard to the function: read, batch, invoke, retry or give up, strictly in order."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from logging import getLogger
from typing import Any, TypeAlias

from adminview.local.event_source.batch import BatchResult, Failure, StreamBatch
from adminview.local.event_source.event import StreamRecord, event, fitting
from adminview.local.event_source.invocation import Clock, InvokedFunction, LambdaContext
from adminview.local.event_source.on_failure import BatchOrigin, Condition, failure_message
from adminview.local.event_source.shards import Cursor
from adminview.local.event_source.window import Window, has_state
from adminview.model.delivery import Delivery

OnFailure: TypeAlias = Callable[[dict[str, Any]], None]

log = getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RetryDelay:
    """The pause of a shard after failures in a row, in seconds."""

    first: float = 0.1
    limit: float = 10.0

    def __call__(self, failures: int) -> float:
        """Return the pause; it doubles with every failure, up to the limit."""
        doublings = min(failures - 1, 30)  # enough for any limit, without an overflow
        return min(self.limit, self.first * 2.0**doublings)


@dataclass(frozen=True, slots=True)
class Subscription:
    """The settings that all shards of a stream share."""

    function: InvokedFunction
    delivery: Delivery
    on_failure: OnFailure
    clock: Clock
    backoff: RetryDelay


class ShardProcessor:
    """Processes the records of one shard strictly in order."""

    def __init__(self, cursor: Cursor, address: BatchOrigin, subscription: Subscription) -> None:
        self._cursor = cursor
        self._address = address
        self._subscription = subscription
        self._read: deque[StreamRecord] = deque()  # not yet in a batch
        self._read_at = 0.0  # when the oldest of them was read
        self._batches: deque[StreamBatch] = deque()  # the parts of the batch in progress
        self._window: Window | None = None  # the tumbling window that is open
        self._retry_at = 0.0
        self._failures = 0  # in a row
        self.trouble: Exception | None = None  # the latest that kept records waiting

    @property
    def over(self) -> bool:
        """Return whether the shard is closed and all its records are settled."""
        waiting = self._read or self._batches or self._window
        return self._cursor.closed and not waiting

    @property
    def due(self) -> float | None:
        """Return when to deliver the records that were read; None if there are none.

        Or when to end a window that is over, because later records and child shards wait for that.
        """
        if self._batches or (self._window and self._is_over(self._window)):
            return self._retry_at
        return self._complete_at if self._read else None

    @property
    def head(self) -> str:
        """Return the shard and the first waiting record, for messages."""
        waiting = self._batches[0].records if self._batches else self._read
        return f"shard {self._address.shard_id} at {waiting[0].sequence if waiting else 'its end'}"

    def advance(self) -> int:
        """Read or deliver, and return how many records are settled.

        Makes at most one invocation with records, and before it the final one of a window.
        """
        if not self._batches:
            self._gather()
        if self._subscription.clock() < self._retry_at:
            return 0
        if self._window and self._is_over(self._window) and not self._end_window(self._window):
            return 0
        if not self._batches:
            return 0
        batch = self._batches[0]
        if expired := batch.expired(self._subscription.delivery, self._subscription.clock()):
            return self._give_up(expired, Condition.AGE)
        done = 0
        if not batch.exhausted(
            self._subscription.delivery
        ):  # it is if its failure message was refused
            done = self._deliver(batch)
        if self._batches and self._batches[0].exhausted(self._subscription.delivery):
            return done + self._give_up(len(self._batches[0].records), Condition.RETRIES)
        return done

    def _gather(self) -> None:
        """Read until a batch is full or the batching window is over."""
        size = self._subscription.delivery.batch_size
        while not self._full() and (page := self._cursor.read(size - len(self._read))):
            if not self._read:
                self._read_at = self._subscription.clock()
            self._read.extend(page)
        is_complete = self._cursor.closed or self._subscription.clock() >= self._complete_at
        if not self._read or not (is_complete or self._full()):
            return
        count = fitting(self._read, size)
        if seconds := self._subscription.delivery.tumbling_seconds:
            count = min(count, Window.of(self._read[0], seconds).leading(self._read))
        self._batches.append(StreamBatch(tuple(self._read.popleft() for _ in range(count))))

    @property
    def _complete_at(self) -> float:
        """When the batching window of the records that were read is over."""
        return self._read_at + self._subscription.delivery.window_seconds

    def _full(self) -> bool:
        size = self._subscription.delivery.batch_size
        return len(self._read) >= size or fitting(self._read, size) < len(self._read)

    def _deliver(self, batch: StreamBatch) -> int:
        """Invoke the function with the first batch, and queue what is left of it first."""
        result = self._invoke(batch)
        self._batches.popleft()
        self._batches.extendleft(reversed(batch.after(result, self._subscription.delivery)))
        if result.failure is None:
            self._failures, self.trouble = 0, None
        else:
            self._back_off()
        return result.done

    def _is_over(self, window: Window) -> bool:
        """Return whether the open window must end before the next batch, or at all."""
        if self._batches:
            return window.is_too_large or not window.holds(self._batches[0].records[0])
        ended = self._cursor.closed and not self._read
        return window.is_too_large or ended or self._subscription.clock() >= window.end

    def _end_window(self, window: Window) -> bool:
        """Make the final invocation of a window; return whether it succeeded."""
        address, subscription = self._address, self._subscription
        early = window.is_too_large or subscription.clock() < window.end
        content = window.fields(address.shard_id, address.stream_arn, final=True, early=early)
        context = LambdaContext.of(subscription.function, subscription.clock)
        try:
            response = subscription.function.invoke({"Records": [], **content}, context)
        except Exception as error:  # noqa: BLE001 - any exception is a function error
            self.trouble = error
            log.warning("%s: the final invocation of a window failed: %r", self.head, error)
            self._back_off()
            return False
        if not has_state(response):
            log.warning("%s: the response to the end of a window has no state", self.head)
            self._back_off()
            return False
        self._window = None
        self._failures, self.trouble = 0, None
        return True

    def _event(self, batch: StreamBatch) -> dict[str, Any]:
        content = event(batch.records)
        if seconds := self._subscription.delivery.tumbling_seconds:
            self._window = self._window or Window.of(batch.records[0], seconds)
            content |= self._window.fields(self._address.shard_id, self._address.stream_arn)
        return content

    def _invoke(self, batch: StreamBatch) -> BatchResult:
        context = LambdaContext.of(self._subscription.function, self._subscription.clock)
        try:
            response = self._subscription.function.invoke(self._event(batch), context)
        except Exception as error:  # any exception is a function error
            self.trouble = error
            log.warning("%s: the function failed: %r", self.head, error)
            log.debug("%s", self.head, exc_info=error)
            return BatchResult(0, Failure.FUNCTION_ERROR, context.aws_request_id)
        result = self._window.read(batch, response) if self._window else batch.read(response)
        if result.failure is Failure.MALFORMED:
            log.warning("%s: the function's response is not a batch response", self.head)
        return replace(result, request_id=context.aws_request_id)

    def _give_up(self, count: int, condition: Condition) -> int:
        """Send a failure message for the first *count* records, and continue after them."""
        failed, rest = self._batches[0].cut(count)
        try:
            self._subscription.on_failure(
                failure_message(failed, condition, self._address, self._subscription.clock())
            )
        except Exception as error:  # noqa: BLE001 - without the message the records must stay
            self.trouble = error
            log.warning("%s: the on-failure message was refused: %r", self.head, error)
            self._back_off()
            return 0
        self._batches.popleft()
        if rest.records:
            self._batches.appendleft(rest)
        self._failures, self._retry_at, self.trouble = 0, 0.0, None
        return count

    def _back_off(self) -> None:
        self._failures += 1
        self._retry_at = self._subscription.clock() + self._subscription.backoff(self._failures)
