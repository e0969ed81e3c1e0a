"""What a segment has read of each group, in chunks that the progress table keeps.

A worker collects entries, one for each group, in the position of its segment, which is stored with
the lease. If they become too large for it, and at the end of the segment, they are written as a
chunk and the position is empty again. Each chunk has an item for each slot, a hash of the group.
The comparison reads one slot of all segments.

A worker that is killed leaves chunks that its stored position does not know. The next worker
overwrites them: chunks are numbered, and each has all slots, also empty ones. The last chunk of a
segment is marked. If an earlier worker wrote more chunks, they come after the first mark and are
not read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, islice
from json import dumps, loads
from typing import Any, Final, TypeAlias
from zlib import compress, decompress

from adminview.aws.concurrency import map_concurrently
from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, all_pages, call_with_retry
from adminview.bulk.segment import Segment
from adminview.model.attribute import PK, SK
from adminview.model.errors import BulkError
from adminview.model.row import Attributes
from adminview.totals.changes import Group
from adminview.totals.comparison import part_of

SLOTS: Final = 8
POSITION_BYTES: Final = 150_000  # of entries in a position: a state has at most 400 KB
CONTENT_BYTES: Final = 380_000  # of an item of a chunk

Entries: TypeAlias = dict[str, dict[str, Any]]  # PK of a total -> SK -> JSON


@dataclass(frozen=True, slots=True)
class Position:
    """Where a segment continues, and what it has read since its last chunk."""

    after: Attributes | None = None
    chunks: int = 0  # that are written
    entries: Entries = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"after": self.after, "chunks": self.chunks, "entries": self.entries}

    @classmethod
    def of(cls, start: Mapping[str, Any] | None) -> "Position":
        return cls(**start) if start else cls()


@dataclass(frozen=True, slots=True)
class Chunk:
    """The entries of a segment that are written together."""

    segment: Segment
    number: int
    entries: Entries
    last: bool

    def contents(self) -> list[bytes]:
        """Return the content of each slot."""
        slots: list[Entries] = [{} for _ in range(SLOTS)]
        for group, entry in walk(self.entries):
            put(slots[part_of(group, SLOTS)], group, entry)
        return [compress(dumps(slot, separators=(",", ":")).encode()) for slot in slots]


def walk(entries: Entries) -> Iterator[tuple[Group, Any]]:
    for partition, sorts in entries.items():
        for sort, entry in sorts.items():
            yield (partition, sort), entry


def put(entries: Entries, group: Group, entry: Any) -> None:
    partition, sort = group
    entries.setdefault(partition, {})[sort] = entry


def size(entries: Entries) -> int:
    """Return how many bytes the entries take in a position."""
    return len(dumps(entries))


@dataclass(frozen=True, slots=True)
class ChunkStore:
    """Keeps chunks in the progress table."""

    client: Any  # DynamoDB, or a Metered
    table: str
    backoff: Backoff

    def write(self, chunk: Chunk, contents: Sequence[bytes], deadline: Deadline) -> None:
        """Write a chunk, or overwrite the one of this number."""
        segment = chunk.segment
        place = f"{_generation(segment.generation)}{segment.number:06}/{chunk.number:09}"

        def write(slot: int) -> None:
            item = {
                **_key(_partition(segment.run, slot), place),
                "of": {"N": str(segment.of)},
                "last": {"BOOL": chunk.last},
                "content": {"B": contents[slot]},
            }
            self._write(self.client.put_item, deadline, Item=item)

        map_concurrently(write, range(SLOTS))

    def read(
        self, run: str, generation: int, slot: int, deadline: Callable[[], Deadline]
    ) -> Iterator[Entries]:
        """Yield the entries of a slot, chunk by chunk; raise a BulkError if a chunk is missing."""
        whole, of = 0, 1
        condition = "begins_with(#sk, :sk)", _generation(generation)
        items = self._query(_partition(run, slot), condition, deadline)
        for _, chunks in groupby(items, key=lambda item: _place(item)[0]):
            for number, item in enumerate(chunks):
                if _place(item)[1] != number:
                    break
                yield loads(decompress(bytes(item["content"]["B"])))
                if item["last"]["BOOL"]:
                    whole, of = whole + 1, int(item["of"]["N"])
                    break
        if whole < of:
            msg = f"{run} lacks some of what it has read: start again with --restart"
            raise BulkError(msg)

    def keys(
        self, run: str, generation: int, slot: int, most: int, deadline: Deadline
    ) -> list[dict[str, Any]]:
        """Return the keys of *most* items of a slot, of this and of earlier generations."""
        partition, condition = _partition(run, slot), ("#sk < :sk", _generation(generation + 1))
        only: Any = {"ProjectionExpression": "#pk, #sk", "Limit": most}
        items = self._query(partition, condition, lambda: deadline, **only)
        return [_key(partition, item[SK.name]["S"]) for item in islice(items, most)]

    def delete(self, keys: Sequence[Mapping[str, Any]], deadline: Deadline) -> None:
        def delete(key: Mapping[str, Any]) -> None:
            self._write(self.client.delete_item, deadline, Key=key)

        map_concurrently(delete, keys)

    def _query(
        self,
        partition: str,
        condition: tuple[str, str],  # on the sort key, and its value
        deadline: Callable[[], Deadline],
        **only: Any,
    ) -> Iterator[Any]:
        """Yield the items of a partition in order."""
        request = {
            "TableName": self.table,
            "KeyConditionExpression": f"#pk = :pk AND {condition[0]}",
            "ExpressionAttributeNames": {"#pk": PK.name, "#sk": SK.name},
            "ExpressionAttributeValues": {":pk": {"S": partition}, ":sk": {"S": condition[1]}},
            "ConsistentRead": True,
            **only,
        }

        def read(**page: Any) -> Any:
            query, action = self.client.query, f"read {self.table}"
            return call_with_retry(partial(query, **page), action, self.backoff, deadline())

        for page in all_pages(read, request):
            yield from page["Items"]

    def _write(self, write: Callable[..., Any], deadline: Deadline, **request: Any) -> None:
        call = partial(write, TableName=self.table, **request)
        call_with_retry(call, f"write {self.table}", self.backoff, deadline)


def _partition(run: str, slot: int) -> str:
    return f"{run}#{slot}"


def _generation(number: int) -> str:
    """Return how the sort keys of a generation begin."""
    return f"{number:09}/"


def _place(item: Any) -> tuple[int, int]:
    """Return the segment and the number of a chunk."""
    _, segment, number = str(item[SK.name]["S"]).split("/")
    return int(segment), int(number)


def _key(partition: str, sort: str) -> dict[str, Any]:
    return {PK.name: {"S": partition}, SK.name: {"S": sort}}
