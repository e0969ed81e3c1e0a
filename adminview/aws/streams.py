"""The sources' streams, as far as they are read again: the records that Lambda gave up on."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from adminview.aws.attribute_codec import from_boto3
from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, call_with_retry
from adminview.model.errors import ExpiredRecordsError, ServiceError
from adminview.model.stream import SequenceRange

if TYPE_CHECKING:
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient
    from mypy_boto3_dynamodbstreams.type_defs import RecordTypeDef

# What DynamoDB answers when the records, the shard or the whole stream are gone.
FORGOTTEN = {"TrimmedDataAccessException", "ResourceNotFoundException"}

EMPTY_PAGES = 20  # in a row: the records are there, or they are not


class Streams:
    """Records that were delivered before."""

    def __init__(self, client: "DynamoDBStreamsClient", backoff: Backoff | None = None) -> None:
        self._client = client
        self._backoff = backoff or Backoff()

    def read(self, stretch: SequenceRange, *, deadline: Deadline) -> Iterator[Mapping[str, Any]]:
        """Read the records of a stretch, as Lambda would deliver them, or say they are gone."""
        try:
            yield from self._read(stretch, deadline)
        except ServiceError as error:
            if error.code not in FORGOTTEN:
                raise
            msg = "the stream no longer has the records of this letter"
            raise ExpiredRecordsError(msg) from error

    def _read(self, stretch: SequenceRange, deadline: Deadline) -> Iterator[Mapping[str, Any]]:
        first, last = int(stretch.first), int(stretch.last)
        begun = False
        for record in self._records(stretch, deadline):
            sequence = int(record["dynamodb"]["SequenceNumber"])
            if (not begun and sequence != first) or sequence > last:
                break
            begun = True
            yield delivered(record, stretch.stream_arn)
            if sequence == last:
                return
        msg = "the stream no longer has all records of this letter"
        raise ExpiredRecordsError(msg)

    def _records(self, stretch: SequenceRange, deadline: Deadline) -> Iterator["RecordTypeDef"]:
        """Read a shard on from the first record of a stretch."""
        iterator: str | None = self._begin(stretch, deadline)
        empty = 0
        while iterator:
            call = partial(self._client.get_records, ShardIterator=iterator)
            page = call_with_retry(call, "read the stream again", self._backoff, deadline)
            yield from page["Records"]
            iterator = page.get("NextShardIterator")
            empty = 0 if page["Records"] else empty + 1
            if empty == EMPTY_PAGES:
                raise ServiceError("EmptyPages", "read the stream again")  # noqa: EM101 - a code
            if empty:
                self._backoff.pause(empty, deadline)

    def _begin(self, stretch: SequenceRange, deadline: Deadline) -> str:
        call = partial(
            self._client.get_shard_iterator,
            StreamArn=stretch.stream_arn,
            ShardId=stretch.shard_id,
            ShardIteratorType="AT_SEQUENCE_NUMBER",
            SequenceNumber=stretch.first,
        )
        return call_with_retry(call, "read the stream again", self._backoff, deadline)[
            "ShardIterator"
        ]


def delivered(record: "RecordTypeDef", stream_arn: str) -> dict[str, Any]:
    """Rewrite a record of GetRecords as Lambda delivers it."""
    change: dict[str, Any] = {**record["dynamodb"]}
    change["ApproximateCreationDateTime"] = int(change["ApproximateCreationDateTime"].timestamp())
    for name in ("Keys", "NewImage", "OldImage"):
        if name in change:
            change[name] = from_boto3(change[name])
    whole: dict[str, Any] = {**record, "dynamodb": change, "eventSourceARN": stream_arn}
    if identity := record.get("userIdentity"):
        whole["userIdentity"] = {"type": identity["Type"], "principalId": identity["PrincipalId"]}
    return whole
