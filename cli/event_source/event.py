"""Stream records, as Lambda delivers them."""

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from json import dumps, loads
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_boto3_dynamodbstreams.type_defs import RecordTypeDef

PAYLOAD_LIMIT = 6 * 1024 * 1024  # bytes of one event, set by Lambda
_HEAD, _BETWEEN, _TAIL = '{"Records":[', ",", "]}"


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """One record: its place in the shard, its time, and the JSON that Lambda makes of it."""

    sequence: str
    created: float  # seconds since the epoch
    body: str
    size: int  # bytes of the body

    @classmethod
    def of(cls, record: "RecordTypeDef", stream_arn: str) -> "StreamRecord":
        """Rewrite a record of GetRecords as Lambda does."""
        change: dict[str, Any] = {**record["dynamodb"]}
        images = {
            name: {key: _typed(value) for key, value in image.items()}
            for name in ("NewImage", "OldImage")
            if (image := change.get(name))
        }
        whole: dict[str, Any] = {
            **record,
            "dynamodb": {**change, **images},
            "eventSourceARN": stream_arn,
        }
        if identity := record.get("userIdentity"):
            whole["userIdentity"] = {
                "type": identity["Type"],
                "principalId": identity["PrincipalId"],
            }
        body = dumps(whole, default=_plain, ensure_ascii=False, separators=(",", ":"))
        return cls(
            sequence=change["SequenceNumber"],
            created=change["ApproximateCreationDateTime"].timestamp(),
            body=body,
            size=len(body.encode()),
        )


def event(records: Iterable[StreamRecord]) -> dict[str, Any]:
    """Make the event of one invocation, sharing nothing with any other."""
    made: dict[str, Any] = loads(_HEAD + _BETWEEN.join(record.body for record in records) + _TAIL)
    return made


def fitting(records: Iterable[StreamRecord], count: int) -> int:
    """Count how many records, at most *count*, fit in one event; the first always does."""
    size = len(_HEAD + _TAIL) - len(_BETWEEN)
    taken = 0
    for record in records:
        size += record.size + len(_BETWEEN)
        if taken == count or (taken and size > PAYLOAD_LIMIT):
            break
        taken += 1
    return taken


def _typed(value: dict[str, Any]) -> dict[str, Any]:
    """Give empty maps their type, which the streams of DynamoDB Local leave out."""
    if not value:
        return {"M": {}}
    ((kind, content),) = value.items()
    if kind == "M":
        return {"M": {name: _typed(element) for name, element in content.items()}}
    return {"L": [_typed(element) for element in content]} if kind == "L" else value


def _plain(value: object) -> str | int:
    """Write what JSON has no word for: bytes as base64, times as whole seconds."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    assert isinstance(value, datetime), f"no stream record holds a {type(value).__name__}"
    return int(value.timestamp())
