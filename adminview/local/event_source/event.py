"""Stream records, as Lambda delivers them."""

from collections.abc import Iterable
from dataclasses import dataclass
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from adminview.aws.streams import delivered

if TYPE_CHECKING:
    from mypy_boto3_dynamodbstreams.type_defs import RecordTypeDef

PAYLOAD_LIMIT = 6 * 1024 * 1024  # bytes of one event, set by Lambda
_HEAD, _BETWEEN, _TAIL = '{"Records":[', ",", "]}"


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """One record: its position in the shard, its time, and its JSON in Lambda's event."""

    sequence: str
    created: float  # seconds since the epoch
    body: str
    size: int  # bytes of the body

    @classmethod
    def of(cls, record: "RecordTypeDef", stream_arn: str) -> "StreamRecord":
        """Convert a record of GetRecords to Lambda's format."""
        body = dumps(delivered(record, stream_arn), ensure_ascii=False, separators=(",", ":"))
        return cls(
            sequence=record["dynamodb"]["SequenceNumber"],
            created=record["dynamodb"]["ApproximateCreationDateTime"].timestamp(),
            body=body,
            size=len(body.encode()),
        )


def event(records: Iterable[StreamRecord]) -> dict[str, Any]:
    """Return the event of one invocation, which shares no object with any other."""
    parsed: dict[str, Any] = loads(_HEAD + _BETWEEN.join(record.body for record in records) + _TAIL)
    return parsed


def fitting(records: Iterable[StreamRecord], count: int) -> int:
    """Return how many records, at most *count*, fit in one event; the first always does."""
    size = len(_HEAD + _TAIL) - len(_BETWEEN)
    taken = 0
    for record in records:
        size += record.size + len(_BETWEEN)
        if taken == count or (taken and size > PAYLOAD_LIMIT):
            break
        taken += 1
    return taken
