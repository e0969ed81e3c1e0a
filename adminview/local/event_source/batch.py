"""A batch of records, and what Lambda makes of it after each answer of the function."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import takewhile

from adminview.local.event_source.event import StreamRecord
from adminview.model.delivery import FOREVER, Delivery


class Failure(Enum):
    """How an invocation failed."""

    FUNCTION_ERROR = auto()  # the function raised, or took too long
    MALFORMED = auto()  # it answered with something Lambda cannot read
    PARTIAL = auto()  # it named the records that failed


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What an invocation came to: so many records from the front are done, the rest failed."""

    done: int
    failure: Failure | None = None
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class StreamBatch:
    """Records of one shard that are delivered together, and how often they were tried."""

    records: tuple[StreamRecord, ...]
    failures: int = 0  # those that count against the retries
    invocations: int = 0
    last: BatchResult | None = None  # what the latest invocation came to

    def read(self, response: object) -> BatchResult:
        """Read the function's response by the rules of ReportBatchItemFailures."""
        if response is None or response == {}:
            return BatchResult(len(self.records))
        if not isinstance(response, Mapping) or "batchItemFailures" not in response:
            return BatchResult(0, Failure.MALFORMED)
        failures = response["batchItemFailures"]
        if failures is None or failures == []:
            return BatchResult(len(self.records))
        places = self._places(failures)
        return (
            BatchResult(min(places), Failure.PARTIAL)
            if places
            else BatchResult(0, Failure.MALFORMED)
        )

    def after(self, answer: BatchResult, delivery: Delivery) -> tuple["StreamBatch", ...]:
        """Say what is to be delivered next, in order; nothing if all is done.

        Splitting uses up no retry, be it in the middle or at the record that was reported.
        """
        rest = self.records[answer.done :]
        tried = replace(self, records=rest, invocations=self.invocations + 1, last=answer)
        if not rest:
            return ()
        if delivery.bisect and answer.done:
            return (tried,)
        if delivery.bisect and answer.failure is not Failure.PARTIAL and len(rest) > 1:
            middle = len(rest) // 2
            return (
                replace(tried, records=rest[:middle]),
                replace(tried, records=rest[middle:]),
            )
        return (replace(tried, failures=tried.failures + 1),)

    def exhausted(self, delivery: Delivery) -> bool:
        """Tell whether the batch was retried as often as it may be."""
        return delivery.retries != FOREVER and self.failures > delivery.retries

    def expired(self, delivery: Delivery, now: float) -> int:
        """Count the records at the front that are too old to be delivered."""
        if delivery.max_age_seconds == FOREVER:
            return 0
        oldest = now - delivery.max_age_seconds
        return sum(1 for _ in takewhile(lambda record: record.created < oldest, self.records))

    def cut(self, count: int) -> tuple["StreamBatch", "StreamBatch"]:
        """Cut the first *count* records off."""
        return (
            replace(self, records=self.records[:count]),
            replace(self, records=self.records[count:]),
        )

    def _places(self, failures: object) -> list[int]:
        """Find the reported records in the batch; one that is not there voids the report."""
        if not isinstance(failures, Iterable) or isinstance(failures, str | Mapping):
            return []
        known = {record.sequence: place for place, record in enumerate(self.records)}
        names = [
            one.get("itemIdentifier") if isinstance(one, Mapping) else None for one in failures
        ]
        places = [known.get(name) if isinstance(name, str) else None for name in names]
        found = [place for place in places if place is not None]
        return found if len(found) == len(places) else []
