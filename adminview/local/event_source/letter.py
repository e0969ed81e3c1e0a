"""The on-failure letter of a stream's event source mapping: where the records are, not what."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any
from uuid import uuid4

from adminview.local.event_source.batch import BatchResult, Failure, StreamBatch
from adminview.local.event_source.invocation import VERSION
from adminview.model.dead_letter import CONTEXT, on_failure_message
from adminview.model.stream import SequenceRange


class Condition(Enum):
    """Why Lambda gave up on a batch, in its own words."""

    RETRIES = "RetryAttemptsExhausted"
    AGE = "RecordAgeExceeded"


@dataclass(frozen=True, slots=True)
class Address:
    """Which function a batch was for, and which shard it came from."""

    function_arn: str
    stream_arn: str
    shard_id: str


def letter(
    batch: StreamBatch, condition: Condition, address: Address, now: float
) -> dict[str, Any]:
    """Write what Lambda would send to the on-failure queue for *batch*."""
    first, last = batch.records[0], batch.records[-1]
    message = on_failure_message(
        SequenceRange(address.stream_arn, address.shard_id, first.sequence, last.sequence),
        len(batch.records),
        (_time(first.created, "seconds"), _time(last.created, "seconds")),
        condition.value,
    )
    message[CONTEXT] |= {
        "requestId": batch.last.request_id if batch.last else str(uuid4()),
        "functionArn": address.function_arn,
        "approximateInvokeCount": batch.invocations,
    }
    # A batch that grew too old before its first delivery was never responded to.
    response = {"responseContext": _response(batch.last)} if batch.last else {}
    return {**message, **response, "version": "1.0", "timestamp": _time(now, "milliseconds")}


def _response(answer: BatchResult) -> dict[str, Any]:
    response: dict[str, Any] = {"statusCode": 200, "executedVersion": VERSION}
    if answer.failure is Failure.FUNCTION_ERROR:
        response["functionError"] = "Unhandled"
    return response


def _time(seconds: float, precision: str) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")
