"""One shard's way through the function: gather, deliver, retry or give up, and only then go on."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from logging import getLogger
from typing import Any, TypeAlias

from adminview.local.event_source.batch import BatchResult, Failure, StreamBatch
from adminview.local.event_source.event import StreamRecord, event, fitting
from adminview.local.event_source.invocation import Clock, Context, InvokedFunction
from adminview.local.event_source.letter import Address, Condition, letter
from adminview.local.event_source.shards import Cursor
from adminview.model.delivery import Delivery

OnFailure: TypeAlias = Callable[[dict[str, Any]], None]

log = getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RetryDelay:
    """How long a shard rests after so many failures in a row, in seconds."""

    first: float = 0.1
    limit: float = 10.0

    def __call__(self, failures: int) -> float:
        """Double the rest with every failure, up to the limit."""
        doublings = min(failures - 1, 30)  # far past any limit, and no number grows too large
        return min(self.limit, self.first * 2.0**doublings)


@dataclass(frozen=True, slots=True)
class Subscription:
    """What every shard of a stream is delivered by."""

    function: InvokedFunction
    delivery: Delivery
    on_failure: OnFailure
    clock: Clock
    backoff: RetryDelay


class Lane:
    """The records of one shard, settled strictly in order."""

    def __init__(self, cursor: Cursor, address: Address, subscription: Subscription) -> None:
        self._cursor = cursor
        self._address = address
        self._by = subscription
        self._read: deque[StreamRecord] = deque()  # not yet in a batch
        self._read_at = 0.0  # when the oldest of them was read
        self._batches: deque[StreamBatch] = deque()  # the pieces of the batch in hand
        self._retry_at = 0.0
        self._failures = 0  # in a row
        self.trouble: Exception | None = None  # the latest that kept records waiting

    @property
    def over(self) -> bool:
        """Tell whether all records of the shard are settled, and no more can come."""
        return self._cursor.closed and not self._read and not self._batches

    @property
    def due(self) -> float | None:
        """Say when the records at hand are to be delivered; none at hand, none due."""
        if self._batches:
            return self._retry_at
        return self._read_at + self._by.delivery.window_seconds if self._read else None

    @property
    def head(self) -> str:
        """Name the first record that waits, for whoever asks why."""
        waiting = self._batches[0].records if self._batches else self._read
        return f"shard {self._address.shard_id} at {waiting[0].sequence if waiting else 'its end'}"

    def advance(self) -> int:
        """Read on or deliver what is due, in at most one invocation; count what was settled."""
        if not self._batches:
            self._gather()
        if not self._batches or self._by.clock() < self._retry_at:
            return 0
        batch = self._batches[0]
        if expired := batch.expired(self._by.delivery, self._by.clock()):
            return self._give_up(expired, Condition.AGE)
        done = 0
        if not batch.exhausted(self._by.delivery):  # it is when its letter was refused before
            done = self._deliver(batch)
        if self._batches and self._batches[0].exhausted(self._by.delivery):
            return done + self._give_up(len(self._batches[0].records), Condition.RETRIES)
        return done

    def _gather(self) -> None:
        """Read on until a batch is full, or the window for a fuller one is over."""
        size = self._by.delivery.batch_size
        while not self._full() and (page := self._cursor.read(size - len(self._read))):
            if not self._read:
                self._read_at = self._by.clock()
            self._read.extend(page)
        due = self.due
        if due is None or not (self._full() or self._cursor.closed or self._by.clock() >= due):
            return
        count = fitting(self._read, size)
        self._batches.append(StreamBatch(tuple(self._read.popleft() for _ in range(count))))

    def _full(self) -> bool:
        size = self._by.delivery.batch_size
        return len(self._read) >= size or fitting(self._read, size) < len(self._read)

    def _deliver(self, batch: StreamBatch) -> int:
        """Invoke the function with the first batch in line, and let what is left of it follow."""
        answer = self._invoke(batch)
        self._batches.popleft()
        self._batches.extendleft(reversed(batch.after(answer, self._by.delivery)))
        if answer.failure is None:
            self._failures, self.trouble = 0, None
        else:
            self._rest()
        return answer.done

    def _invoke(self, batch: StreamBatch) -> BatchResult:
        context = Context.of(self._by.function, self._by.clock)
        try:
            response = self._by.function.invoke(event(batch.records), context)
        except Exception as error:  # whatever a function raises is a function error
            self.trouble = error
            log.warning("%s: the function failed: %r", self.head, error)
            log.debug("%s", self.head, exc_info=error)
            return BatchResult(0, Failure.FUNCTION_ERROR, context.aws_request_id)
        answer = batch.read(response)
        if answer.failure is Failure.MALFORMED:
            log.warning("%s: the function's response is not a batch response", self.head)
        return replace(answer, request_id=context.aws_request_id)

    def _give_up(self, count: int, condition: Condition) -> int:
        """Send a letter for the first *count* records, and go on behind them."""
        aside, rest = self._batches[0].cut(count)
        try:
            self._by.on_failure(letter(aside, condition, self._address, self._by.clock()))
        except Exception as error:  # noqa: BLE001 - without a letter the records must stay
            self.trouble = error
            log.warning("%s: the on-failure letter was refused: %r", self.head, error)
            self._rest()
            return 0
        self._batches.popleft()
        if rest.records:
            self._batches.appendleft(rest)
        self._failures, self._retry_at, self.trouble = 0, 0.0, None
        return count

    def _rest(self) -> None:
        self._failures += 1
        self._retry_at = self._by.clock() + self._by.backoff(self._failures)
