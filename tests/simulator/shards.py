"""Source tables as their services write them, and their streams."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any

from adminview.local.event_source.event import StreamRecord
from tests.simulator.calls import Calls
from tests.simulator.fibers import Fibers
from tests.simulator.model import Name, State
from tests.simulator.past import Past
from tests.support.fakes import refusal
from tests.support.stream_records import STREAM

PAGE = 2  # records per page of GetRecords: small, so that a range takes several pages


@dataclass(slots=True, eq=False)
class Shard:
    """The records of some items, in order."""

    id: str
    parent: "Shard | None"
    ids: set[str]
    records: list[dict[str, Any]] = field(default_factory=list)
    closed: bool = False
    settled: int = 0  # records that Lambda has processed or given up on
    drained: bool = False

    def waiting(self, id_: str) -> bool:
        """Return whether records of an item are still to be delivered."""
        return any(
            record["dynamodb"]["Keys"]["id"]["S"] == id_ for record in self.records[self.settled :]
        )


class Reader:
    """A position in a shard, as the event source reads it."""

    def __init__(self, shard: Shard, arn: str, position: int) -> None:
        self._shard = shard
        self._arn = arn
        self._position = position

    @property
    def closed(self) -> bool:
        """Return whether the shard was read to its end and is closed."""
        return self._shard.closed and not self.more

    @property
    def more(self) -> bool:
        """Return whether there are records to read."""
        return self._position < len(self._shard.records)

    def read(self, limit: int) -> list[StreamRecord]:
        """Read at most *limit* records."""
        page = self._shard.records[self._position : self._position + limit]
        self._position += len(page)
        return [StreamRecord.of(record, self._arn) for record in page]  # type: ignore[arg-type]


class SourceStream:
    """One source table, and the shards of its stream."""

    def __init__(self, fibers: Fibers, table: str, ids: set[str]) -> None:
        self._fibers = fibers
        self._sequence = count(1000)
        self.table = table
        self.arn = STREAM.format(table)
        self.items: dict[str, dict[str, Any]] = {}
        self.states: dict[str, State] = {}
        self.past = Past(fibers)
        self.shards = [Shard("shard-0", None, ids)]

    def write(self, name: Name, state: State | None) -> bool:
        """Write or delete an item, and return whether that changed it."""
        before, after = self.items.get(name.id), name.image(state)
        if before == after:
            return False  # an equal copy makes no record
        self.shard_of(name.id).records.append(self._record(name, before, after))
        self.begin_with(name, state)
        return True

    def begin_with(self, name: Name, state: State | None) -> None:
        """Create an item without a record."""
        self.past.note(name.id, self.items.get(name.id))
        if state is None:
            self.items.pop(name.id)
            self.states.pop(name.id)
        else:
            self.items[name.id] = name.image(state) or {}
            self.states[name.id] = state

    def shard_of(self, id_: str) -> Shard:
        """Return the shard that gets an item's records now."""
        return next(shard for shard in self.shards if id_ in shard.ids and not shard.closed)

    def split(self, id_: str) -> list[Shard]:
        """Close the shard of an item; later records go to two new shards."""
        old = self.shard_of(id_)
        old.closed = True
        number = len(self.shards)
        new = [
            Shard(f"shard-{number}", old, {id_}),
            Shard(f"shard-{number + 1}", old, old.ids - {id_}),
        ]
        self.shards += new
        return new

    def waiting(self, id_: str) -> bool:
        """Return whether records of an item are still to be delivered."""
        return any(shard.waiting(id_) for shard in self.shards if id_ in shard.ids)

    def _record(self, name: Name, before: Any, after: Any) -> dict[str, Any]:
        event = "INSERT" if before is None else "REMOVE" if after is None else "MODIFY"
        images = {"OldImage": before, "NewImage": after}
        sequence = f"{next(self._sequence):021d}"
        return {
            "eventID": sequence,
            "eventName": event,
            "dynamodb": {
                "ApproximateCreationDateTime": datetime.fromtimestamp(self._fibers.now, UTC),
                "Keys": name.key,
                **{image: item for image, item in images.items() if item is not None},
                "SequenceNumber": sequence,
                "StreamViewType": "NEW_AND_OLD_IMAGES",
            },
        }


class StreamsClient:
    """A client for all streams of a history. Its methods are boto3's."""

    def __init__(self, calls: Calls, sources: dict[str, SourceStream]) -> None:
        self._calls = calls
        self._shards = {source.arn: source for source in sources.values()}

    def get_shard_iterator(self, **request: Any) -> dict[str, Any]:
        assert request["ShardIteratorType"] == "AT_SEQUENCE_NUMBER"

        def effect(_: object) -> dict[str, Any]:
            shard = self._find(request["StreamArn"], request["ShardId"])
            sequences = [record["dynamodb"]["SequenceNumber"] for record in shard.records]
            position = sequences.index(request["SequenceNumber"])
            return {"ShardIterator": f"{request['StreamArn']}|{shard.id}|{position}"}

        return self._calls.make(f"GetShardIterator {request['SequenceNumber']}", effect)

    def get_records(self, ShardIterator: str) -> dict[str, Any]:  # noqa: N803
        arn, shard_id, start = ShardIterator.split("|")

        def effect(_: object) -> dict[str, Any]:
            shard = self._find(arn, shard_id)
            end = int(start) + PAGE
            over = shard.closed and end >= len(shard.records)
            more = {} if over else {"NextShardIterator": f"{arn}|{shard_id}|{end}"}
            return {"Records": shard.records[int(start) : end], **more}

        return self._calls.make("GetRecords", effect)

    def find(self, table: str, sequence: str) -> dict[str, Any] | None:
        """Return a record that was once in a stream."""
        shards = next(stream.shards for stream in self._shards.values() if stream.table == table)
        records = [record for shard in shards for record in shard.records]
        return next((record for record in records if record["eventID"] == sequence), None)

    def _find(self, arn: str, shard_id: str) -> Shard:
        for shard in self._shards[arn].shards:
            if shard.id == shard_id:
                return shard
        raise refusal("ResourceNotFoundException", "GetRecords")
