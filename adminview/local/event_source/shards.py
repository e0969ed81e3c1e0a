"""A stream and its shards, read through the public API."""

from collections.abc import Iterator
from dataclasses import dataclass
from logging import getLogger
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from adminview.local.event_source.event import StreamRecord

if TYPE_CHECKING:
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient

PAGE_LIMIT = 1000  # records of one GetRecords call, set by DynamoDB
EXPIRED = "ExpiredIteratorException"  # an iterator lives 15 minutes
TRIMMED = "TrimmedDataAccessException"
GONE = "ResourceNotFoundException"

log = getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard, and its parent, whose records come first."""

    id: str
    parent: str | None = None


class Stream:
    """One DynamoDB stream."""

    def __init__(self, client: "DynamoDBStreamsClient", arn: str) -> None:
        self._client = client
        self.arn = arn

    def shards(self) -> Iterator[Shard]:
        """Yield the shards that the stream still has, open and closed."""
        start: dict[str, Any] = {}
        while True:
            page = self._client.describe_stream(StreamArn=self.arn, **start)["StreamDescription"]
            for shard in page.get("Shards", []):
                yield Shard(shard["ShardId"], shard.get("ParentShardId"))
            if not (last := page.get("LastEvaluatedShardId")):
                return
            start = {"ExclusiveStartShardId": last}

    def cursor(self, shard: Shard) -> "Cursor":
        """Return a cursor at the oldest record of a shard."""
        return Cursor(self._client, self.arn, shard.id)


class Cursor:
    """A position in one shard. Only a successful read moves it."""

    def __init__(self, client: "DynamoDBStreamsClient", arn: str, shard_id: str) -> None:
        self._client = client
        self._arn = arn
        self._shard_id = shard_id
        self._iterator: str | None = None
        self._last: str | None = None  # sequence number of the last record read
        self.closed = False  # read to its end; no record will follow

    def read(self, limit: int) -> list[StreamRecord]:
        """Return at most *limit* records; none may mean that there are none yet."""
        for _ in (EXPIRED, TRIMMED, GONE):  # each may occur once, one after the other
            try:
                return self._page(min(limit, PAGE_LIMIT))
            except ClientError as error:
                self._recover(error)
        return self._page(min(limit, PAGE_LIMIT))

    def _page(self, limit: int) -> list[StreamRecord]:
        if self.closed:
            return []
        if self._iterator is None:
            self._iterator = self._new_iterator()
        page = self._client.get_records(ShardIterator=self._iterator, Limit=limit)
        records = [StreamRecord.of(record, self._arn) for record in page["Records"]]
        self._iterator = page.get("NextShardIterator")
        self.closed = not self._iterator
        if records:
            self._last = records[-1].sequence
        return records

    def _new_iterator(self) -> str:
        where = {"StreamArn": self._arn, "ShardId": self._shard_id}
        if self._last is None:
            response = self._client.get_shard_iterator(**where, ShardIteratorType="TRIM_HORIZON")
        else:
            response = self._client.get_shard_iterator(
                **where, ShardIteratorType="AFTER_SEQUENCE_NUMBER", SequenceNumber=self._last
            )
        return response["ShardIterator"]

    def _recover(self, error: ClientError) -> None:
        """Prepare to read again after *error*, or raise it."""
        match error.response["Error"]["Code"]:
            case code if code == EXPIRED and self._iterator is not None:
                pass
            case code if code == TRIMMED:
                if self._last is not None:  # otherwise nothing was read that could be missed
                    self._report_lost("continuing at the oldest record")
                self._last = None
            case code if code == GONE and self._iterator is not None:
                self._report_lost("the shard is gone")
                self.closed = True
            case _:
                raise error
        self._iterator = None

    def _report_lost(self, consequence: str) -> None:
        log.warning(
            "records were lost: the stream no longer has those of shard %s after %s; %s",
            self._shard_id,
            self._last or "its beginning",
            consequence,
        )
