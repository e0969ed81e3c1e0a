"""Reads records of the sources' streams again: those that Lambda gave up on."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from adminview.aws.attribute_codec import from_boto3
from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, call_with_retry
from adminview.model.errors import ExpiredRecordsError, ServiceError
from adminview.model.stream import SequenceRange

if TYPE_CHECKING:
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient
    from mypy_boto3_dynamodbstreams.type_defs import RecordTypeDef

# Error codes if the records, the shard or the whole stream no longer exist.
EXPIRED = {"TrimmedDataAccessException", "ResourceNotFoundException"}

ACTION = "read the stream again"
EMPTY_PAGES = 20  # in a row, before giving up


class Streams:
    """Reads records that were delivered before."""

    def __init__(self, client: "DynamoDBStreamsClient", backoff: Backoff | None = None) -> None:
        self._client = client
        self._backoff = backoff or Backoff()

    def read(self, records: SequenceRange, *, deadline: Deadline) -> Iterator[Mapping[str, Any]]:
        """Yield the records of a range as Lambda delivers them.

        Raises an ExpiredRecordsError if the stream no longer has all of them.
        """
        try:
            yield from self._read(records, deadline)
        except ServiceError as error:
            if error.code not in EXPIRED:
                raise
            msg = "the stream no longer has the records of this dead letter"
            raise ExpiredRecordsError(msg) from error

    def _read(self, records: SequenceRange, deadline: Deadline) -> Iterator[Mapping[str, Any]]:
        first, last = int(records.first), int(records.last)
        begun = False
        for record in self._records(records, deadline):
            sequence = int(record["dynamodb"]["SequenceNumber"])
            if (not begun and sequence != first) or sequence > last:
                break
            begun = True
            yield delivered(record, records.stream_arn)
            if sequence == last:
                return
        msg = "the stream no longer has all records of this dead letter"
        raise ExpiredRecordsError(msg)

    def _records(self, records: SequenceRange, deadline: Deadline) -> Iterator["RecordTypeDef"]:
        """Yield the records of a shard from the first record of the range."""
        beginning = self._call(
            self._client.get_shard_iterator,
            deadline,
            StreamArn=records.stream_arn,
            ShardId=records.shard_id,
            ShardIteratorType="AT_SEQUENCE_NUMBER",
            SequenceNumber=records.first,
        )
        iterator: str | None = beginning["ShardIterator"]
        empty = 0
        while iterator:
            page = self._call(self._client.get_records, deadline, ShardIterator=iterator)
            yield from page["Records"]
            iterator = page.get("NextShardIterator")
            empty = 0 if page["Records"] else empty + 1
            if empty == EMPTY_PAGES:
                raise ServiceError("EmptyPages", ACTION)  # noqa: EM101 - a code
            if empty:
                self._backoff.pause(empty, deadline)

    def _call(self, call: Callable[..., Any], deadline: Deadline, **request: Any) -> Any:
        return call_with_retry(call, ACTION, self._backoff, deadline, **request)


def delivered(record: "RecordTypeDef", stream_arn: str) -> dict[str, Any]:
    """Convert a record of GetRecords to the form that Lambda delivers."""
    change: dict[str, Any] = {**record["dynamodb"]}
    change["ApproximateCreationDateTime"] = int(change["ApproximateCreationDateTime"].timestamp())
    for name in ("Keys", "NewImage", "OldImage"):
        if name in change:
            change[name] = from_boto3(change[name])
    event: dict[str, Any] = {**record, "dynamodb": change, "eventSourceARN": stream_arn}
    if identity := record.get("userIdentity"):
        event["userIdentity"] = {"type": identity["Type"], "principalId": identity["PrincipalId"]}
    return event
