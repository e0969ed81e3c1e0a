"""AdminViewTable with rows that contribute, and the shards of its stream."""

from datetime import UTC, datetime
from typing import Any
from zlib import crc32

from adminview.local.event_source.event import StreamRecord
from tests.simulator.fibers import Fibers
from tests.simulator.shards import Shard
from tests.support.stream_records import STREAM

ARN = STREAM.format("AdminViewTable")
RETENTION = 24 * 3600.0  # seconds, that the stream keeps a record
FIRST_NUMBERS = (
    97,
    10**20 - 3,
)  # of the two shards at the beginning: texts, numbers, lengths differ


class ViewStream:
    """The rows, and a record for each of their changes."""

    def __init__(self, fibers: Fibers, names: list[str]) -> None:
        self._fibers = fibers
        self.rows: dict[str, dict[str, Any]] = {}
        self.hostile: set[str] = set()  # rows whose contributions are malformed
        halves = [set(names[::2]), set(names[1::2])]
        self.shards = [
            Shard(f"shardId-{place}", None, half) for place, half in enumerate(halves) if half
        ]
        self._numbers = {
            name: first for first, half in zip(FIRST_NUMBERS, halves, strict=True) for name in half
        }
        self._next = dict(zip(FIRST_NUMBERS, FIRST_NUMBERS, strict=True))

    def write(self, name: str, after: dict[str, Any] | None) -> bool:
        """Write or delete a row, and tell whether that changed anything."""
        before = self.rows.get(name)
        if before == after:
            return False  # an exact copy makes no record
        self.shard_of(name).records.append(self._record(name, before, after))
        if after is None:
            del self.rows[name]
        else:
            self.rows[name] = after
        return True

    def shard_of(self, name: str) -> Shard:
        """Find the shard that takes a row's records now."""
        return next(shard for shard in self.shards if name in shard.ids and not shard.closed)

    def split(self, name: str) -> list[Shard]:
        """Close the shard of a row; its rows' records go to one or two new ones."""
        old = self.shard_of(name)
        old.closed = True
        number = len(self.shards)
        parts = [part for part in ({name}, old.ids - {name}) if part]
        new = [Shard(f"shardId-{number + place}", old, part) for place, part in enumerate(parts)]
        self.shards += new
        return new

    def oldest(self, records: list[dict[str, Any]]) -> int:
        """Count the records at the front that the stream no longer has."""
        since = self._fibers.now - RETENTION
        return sum(1 for record in records if created(record) <= since)

    def _record(self, name: str, before: Any, after: Any) -> dict[str, Any]:
        event = "INSERT" if before is None else "REMOVE" if after is None else "MODIFY"
        images = {"OldImage": before, "NewImage": after}
        line = self._numbers[name]  # shards of one line of descent count on
        self._next[line] += 1 + len(self.rows) % 2
        sequence = f"{self._next[line]:021d}"
        return {
            "eventID": sequence,
            "eventName": event,
            "dynamodb": {
                "ApproximateCreationDateTime": datetime.fromtimestamp(self._fibers.now, UTC),
                "Keys": {"PK": {"S": "ROWS"}, "SK": {"S": name}},
                **{image: row for image, row in images.items() if row is not None},
                "SequenceNumber": sequence,
                "StreamViewType": "NEW_AND_OLD_IMAGES",
            },
        }


class LaneReader:
    """A place in the records of a shard that one of its concurrent batches is made of."""

    def __init__(self, shard: Shard, lane: int, lanes: int) -> None:
        self._shard = shard
        self._lane = lane
        self._lanes = lanes
        self.position = 0

    @property
    def records(self) -> list[dict[str, Any]]:
        """The records of this lane: with several, those of a row are in one."""
        if self._lanes == 1:
            return self._shard.records
        return [record for record in self._shard.records if self._is_mine(record)]

    @property
    def closed(self) -> bool:
        """Tell whether the shard was read to its end, and no record will follow."""
        return self._shard.closed and not self.more

    @property
    def more(self) -> bool:
        """Tell whether there are records to be read."""
        return self.position < len(self.records)

    def read(self, limit: int) -> list[StreamRecord]:
        """Read at most *limit* records."""
        page = self.records[self.position : self.position + limit]
        self.position += len(page)
        return [as_delivered(record) for record in page]

    def _is_mine(self, record: dict[str, Any]) -> bool:
        name = record["dynamodb"]["Keys"]["SK"]["S"]
        return crc32(name.encode()) % self._lanes == self._lane


def as_delivered(record: dict[str, Any]) -> StreamRecord:
    """Convert a record to Lambda's format."""
    return StreamRecord.of(record, ARN)  # type: ignore[arg-type]


def created(record: dict[str, Any]) -> float:
    """Return when a record was made, in seconds since 1970."""
    at: datetime = record["dynamodb"]["ApproximateCreationDateTime"]
    return at.timestamp()
