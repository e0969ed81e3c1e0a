"""A batch of records, and what Lambda does with it after each invocation."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import takewhile

from adminview.local.event_source.event import StreamRecord
from adminview.model.delivery import FOREVER, Delivery


class Failure(Enum):
    """How an invocation failed."""

    FUNCTION_ERROR = auto()  # the function raised, or took too long
    MALFORMED = auto()  # Lambda cannot parse its response
    PARTIAL = auto()  # it named the records that failed


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of an invocation: the first *done* records are done, the rest failed."""

    done: int
    failure: Failure | None = None
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class StreamBatch:
    """Records of one shard that are delivered together, and how often they were tried."""

    records: tuple[StreamRecord, ...]
    failures: int = 0  # that count against the retries
    invocations: int = 0
    last: BatchResult | None = None  # of the latest invocation

    def read(self, response: object) -> BatchResult:
        """Parse the function's response by the rules of ReportBatchItemFailures."""
        if response is None or response == {}:
            return BatchResult(len(self.records))
        if not isinstance(response, Mapping) or "batchItemFailures" not in response:
            return BatchResult(0, Failure.MALFORMED)
        failures = response["batchItemFailures"]
        if failures is None or failures == []:
            return BatchResult(len(self.records))
        positions = self._positions(failures)
        return (
            BatchResult(min(positions), Failure.PARTIAL)
            if positions
            else BatchResult(0, Failure.MALFORMED)
        )

    def after(self, result: BatchResult, delivery: Delivery) -> tuple["StreamBatch", ...]:
        """Return the batches to deliver next, in order; none if all records are done.

        A split consumes no retry, whether in the middle or at the reported record.
        """
        rest = self.records[result.done :]
        tried = replace(self, records=rest, invocations=self.invocations + 1, last=result)
        if not rest:
            return ()
        if delivery.bisect and result.done:
            return (tried,)
        if delivery.bisect and result.failure is not Failure.PARTIAL and len(rest) > 1:
            middle = len(rest) // 2
            return (
                replace(tried, records=rest[:middle]),
                replace(tried, records=rest[middle:]),
            )
        return (replace(tried, failures=tried.failures + 1),)

    def exhausted(self, delivery: Delivery) -> bool:
        """Return whether the batch has no retries left."""
        return delivery.retries != FOREVER and self.failures > delivery.retries

    def expired(self, delivery: Delivery, now: float) -> int:
        """Count the records at the front that are too old to be delivered."""
        if delivery.max_age_seconds == FOREVER:
            return 0
        oldest = now - delivery.max_age_seconds
        return sum(1 for _ in takewhile(lambda record: record.created < oldest, self.records))

    def cut(self, count: int) -> tuple["StreamBatch", "StreamBatch"]:
        """Split the batch after its first *count* records."""
        return (
            replace(self, records=self.records[:count]),
            replace(self, records=self.records[count:]),
        )

    def _positions(self, failures: object) -> list[int]:
        """Return the positions of the reported records; none if one is not in the batch."""
        if not isinstance(failures, Iterable) or isinstance(failures, str | Mapping):
            return []
        known = {record.sequence: position for position, record in enumerate(self.records)}
        positions: list[int] = []
        for failure in failures:
            name = failure.get("itemIdentifier") if isinstance(failure, Mapping) else None
            if not isinstance(name, str) or name not in known:
                return []
            positions.append(known[name])
        return positions
