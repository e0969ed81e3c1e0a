"""The on-failure destination of an event source mapping.

Its messages contain the range of the records, not the records, and go to our dead-letter queue.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from json import dumps
from typing import Any
from uuid import uuid4

from adminview.aws.dead_letter_producer import DeadLetterSink
from adminview.aws.deadline import Deadline
from adminview.local.event_source.batch import BatchResult, Failure, StreamBatch
from adminview.local.event_source.invocation import VERSION
from adminview.model.dead_letter import CONTEXT, OutgoingLetter, from_json, on_failure_message
from adminview.model.stream import SequenceRange

SEND_SECONDS = 30.0


class Condition(Enum):
    """Why Lambda gave up on a batch, as it is reported."""

    RETRIES = "RetryAttemptsExhausted"
    AGE = "RecordAgeExceeded"


@dataclass(frozen=True, slots=True)
class BatchOrigin:
    """The function and the shard of a batch."""

    function_arn: str
    stream_arn: str
    shard_id: str


def failure_message(
    batch: StreamBatch, condition: Condition, address: BatchOrigin, now: float
) -> dict[str, Any]:
    """Return the message that Lambda would send to the on-failure queue for *batch*."""
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
    # A batch that expired before its first delivery has no response.
    response = {"responseContext": _response(batch.last)} if batch.last else {}
    return {**message, **response, "version": "1.0", "timestamp": _time(now, "milliseconds")}


def on_failure(sink: DeadLetterSink) -> Callable[[dict[str, Any]], None]:
    """Return a function that sends a failure message to *sink*, and raises if it is refused."""

    def send(message: dict[str, Any]) -> None:
        letter = OutgoingLetter.of(from_json(dumps(message)))
        unsent, errors = sink.send([letter], deadline=Deadline.after(SEND_SECONDS))
        if unsent:
            msg = (
                "the failure message could not be sent, so its records stay in the stream: "
                f"{', '.join(sorted(errors))}"
            )
            raise RuntimeError(msg)

    return send


def _response(result: BatchResult) -> dict[str, Any]:
    response: dict[str, Any] = {"statusCode": 200, "executedVersion": VERSION}
    if result.failure is Failure.FUNCTION_ERROR:
        response["functionError"] = "Unhandled"
    return response


def _time(seconds: float, precision: str) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")


def no_destination(_: dict[str, Any]) -> None:
    """Drop the message, as Lambda does for a mapping without an on-failure destination."""
