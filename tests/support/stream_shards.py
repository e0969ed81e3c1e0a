"""An in-memory stream of shards, and an event source on it with a controlled clock."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any

from botocore.exceptions import ClientError

from adminview.local.event_source import EventSource
from adminview.local.event_source.shards import EXPIRED, GONE, TRIMMED
from adminview.model.delivery import FOREVER, Delivery

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/Things/stream/2026-01-01T00:00:00.000"
NOW = 1_767_225_600.0
MAX_CONCURRENCY = Delivery(window_seconds=0, max_age_seconds=FOREVER)


def refusal(code: str, status: int = 400) -> ClientError:
    response: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "GetRecords")


@dataclass
class FakeShard:
    """A shard that can be closed, and trimmed from the front."""

    parent: str | None = None
    records: list[dict[str, Any]] = field(default_factory=list)
    trimmed: int = 0
    closed: bool = False


class FakeStreams:
    """The streams API in memory. Its iterators are ``shard/position/generation``."""

    def __init__(self) -> None:
        self.shards: dict[str, FakeShard] = {}
        self.generation = 0  # increment it to expire all iterators returned so far
        self.refusals: dict[str, list[Exception]] = {}  # for GetRecords, by shard
        self._numbers = count(98)  # the order of the numbers differs from that of their texts

    def put(self, shard: str = "A", count: int = 1, *, at: float = NOW, size: int = 0) -> None:
        """Add records to a shard; numbers increase across all shards."""
        for number in (str(next(self._numbers)) for _ in range(count)):
            change = {
                "ApproximateCreationDateTime": datetime.fromtimestamp(at, UTC),
                "Keys": {"id": {"S": number}},
                "NewImage": {"id": {"S": number}, "text": {"S": "x" * size}},
                "SequenceNumber": number,
            }
            self.shards.setdefault(shard, FakeShard()).records.append({"dynamodb": change})

    def describe_stream(
        self,
        StreamArn: str,  # noqa: N803 - boto3's
        ExclusiveStartShardId: str | None = None,  # noqa: N803 - boto3's
    ) -> dict[str, Any]:
        """List one shard per page."""
        assert StreamArn == ARN
        names = list(self.shards)
        page = names[names.index(ExclusiveStartShardId) + 1 if ExclusiveStartShardId else 0 :]
        described = [self._describe(name) for name in page[:1]]
        more = {"LastEvaluatedShardId": page[0]} if page[1:] else {}
        return {"StreamDescription": {"Shards": described, **more}}

    def _describe(self, name: str) -> dict[str, str]:
        parent = self.shards[name].parent
        return {"ShardId": name, **({"ParentShardId": parent} if parent else {})}

    def get_shard_iterator(self, **request: str) -> dict[str, str]:
        """Return an iterator at the oldest record, or after a given one."""
        shard = self.shards[request["ShardId"]]
        position = shard.trimmed
        if request["ShardIteratorType"] == "AFTER_SEQUENCE_NUMBER":
            position = 1 + [record["dynamodb"]["SequenceNumber"] for record in shard.records].index(
                request["SequenceNumber"]
            )
        if position < shard.trimmed:
            raise refusal(TRIMMED)
        return {"ShardIterator": f"{request['ShardId']}/{position}/{self.generation}"}

    def get_records(self, ShardIterator: str, Limit: int) -> dict[str, Any]:  # noqa: N803 - boto3's
        """Return a page, and the iterator of the next one."""
        name, position, generation = ShardIterator.split("/")
        if refusals := self.refusals.get(name):
            raise refusals.pop(0)
        if int(generation) < self.generation:
            raise refusal(EXPIRED)
        if name not in self.shards:
            raise refusal(GONE)
        shard = self.shards[name]
        if int(position) < shard.trimmed:
            raise refusal(TRIMMED)
        assert 1 <= Limit <= 1000
        end = min(int(position) + Limit, len(shard.records))
        over = shard.closed and end == len(shard.records)
        more = {} if over else {"NextShardIterator": f"{name}/{end}/{self.generation}"}
        return {"Records": shard.records[int(position) : end], **more}


class Lab:
    """A stream, a function with prepared responses, and a clock that only sleeping advances."""

    def __init__(self, *answers: Any, **settings: Any) -> None:
        self.stream = FakeStreams()
        self.answers = list(answers)  # in turn; then success
        self.batches: list[list[str]] = []
        self.letters: list[dict[str, Any]] = []
        self.sleeps: list[float] = []
        self.now = NOW
        wiring: dict[str, Any] = {
            "on_failure": self.letters.append,
            "handler": self.handle,
            "delivery": MAX_CONCURRENCY,
        }
        self.source = EventSource(
            streams=self.stream,  # type: ignore[arg-type]  # as much of the client as is used
            stream_arn=ARN,
            clock=lambda: self.now,
            sleep=self.sleep,
            **(wiring | settings),
        )

    def handle(self, event: dict[str, Any], context: Any) -> Any:
        """Record the batch, and return the next response."""
        self.batches.append([record["dynamodb"]["SequenceNumber"] for record in event["Records"]])
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, BaseException):
            raise answer
        return answer(event, context) if callable(answer) else answer

    def sleep(self, seconds: float) -> None:
        """Advance the clock."""
        self.sleeps.append(seconds)
        self.now += seconds

    @property
    def ranges(self) -> list[tuple[str, str, str]]:
        """The condition, first and last sequence number of each on-failure message."""
        return [
            (
                letter["requestContext"]["condition"],
                letter["DDBStreamBatchInfo"]["startSequenceNumber"],
                letter["DDBStreamBatchInfo"]["endSequenceNumber"],
            )
            for letter in self.letters
        ]


def rules(**changes: Any) -> Delivery:
    return Delivery(**({"window_seconds": 0, "max_age_seconds": FOREVER} | changes))


def failed(*identifiers: str) -> dict[str, Any]:
    return {"batchItemFailures": [{"itemIdentifier": identifier} for identifier in identifiers]}


def fails_with(*poison: str) -> Callable[[dict[str, Any], Any], None]:
    """Return a handler that raises while a poison record is in the batch."""

    def handler(event: dict[str, Any], _: Any) -> None:
        if {record["dynamodb"]["SequenceNumber"] for record in event["Records"]} & set(poison):
            raise ValueError(poison)

    return handler
