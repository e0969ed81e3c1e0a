"""Tumbling windows, as Lambda documents them.

Windows have a fixed length and begin at multiples of it. A batch holds records of one window, by
their time. Each event names the shard, the window and the state that the previous invocation of the
window returned. A window ends with an invocation without records, when its time is over; early if
its shard ends or its state exceeds 1 MB. The response to every event must have a state.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import takewhile
from json import dumps
from typing import Any, TypeGuard

from adminview.local.event_source.batch import BatchResult, Failure, StreamBatch
from adminview.local.event_source.event import StreamRecord

STATE = "state"
STATE_LIMIT = 1024 * 1024  # bytes, set by Lambda


@dataclass(slots=True)
class Window:
    """The window that a shard's records are in, and its state."""

    start: int  # seconds since 1970
    seconds: int
    state: Any = field(default_factory=dict)
    is_too_large: bool = False

    @classmethod
    def of(cls, record: StreamRecord, seconds: int) -> "Window":
        return cls(int(record.created // seconds) * seconds, seconds)

    @property
    def end(self) -> int:
        return self.start + self.seconds

    def holds(self, record: StreamRecord) -> bool:
        """Return whether a record is in this window; a late one is in the window that is open."""
        return record.created < self.end

    def leading(self, records: Iterable[StreamRecord]) -> int:
        """Count the first records that are in this window."""
        return sum(1 for _ in takewhile(self.holds, records))

    def fields(
        self, shard_id: str, stream_arn: str, *, final: bool = False, early: bool = False
    ) -> dict[str, Any]:
        """Return the members that an event of this window has besides its records."""
        return {
            "window": {"start": _time(self.start), "end": _time(self.end)},
            STATE: self.state,
            "shardId": shard_id,
            "eventSourceARN": stream_arn,
            "isFinalInvokeForWindow": final,
            "isWindowTerminatedEarly": early,
        }

    def read(self, batch: StreamBatch, response: object) -> BatchResult:
        """Parse the response to a batch, and keep its state for the next one.

        A response without a state has failed. One without failures has none.
        """
        if not has_state(response):
            return BatchResult(0, Failure.MALFORMED)
        result = batch.read({name: response[name] for name in response if name != STATE})
        if result.failure is not Failure.MALFORMED:
            self.state = response[STATE]
            self.is_too_large = len(dumps(self.state).encode()) > STATE_LIMIT
        return result


def has_state(response: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether a response has the state that every event of a window needs."""
    return isinstance(response, Mapping) and STATE in response


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
