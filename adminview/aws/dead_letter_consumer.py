"""Receives dead letters from the queue, and deletes them or makes them visible again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from adminview.aws.concurrency import batched
from adminview.aws.dead_letter_producer import BATCH_LIMIT
from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, call_with_retry

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

WAIT_SECONDS = 1  # long polling: only such a call queries all of SQS' servers


@dataclass(frozen=True, slots=True)
class Message:
    """A received dead letter. It is invisible to other consumers for a while."""

    id: str
    receipt: str
    body: str
    sent: float  # seconds since 1970
    received: int  # how often it was received


@dataclass(frozen=True, slots=True)
class Waiting:
    """Approximate numbers of dead letters, as SQS counts them."""

    ready: int
    taken: int  # received and not deleted yet
    delayed: int

    @property
    def invisible(self) -> int:
        """The number of dead letters that are invisible now."""
        return self.taken + self.delayed


class DeadLetterConsumer:
    """The dead letters of one SQS queue."""

    def __init__(
        self,
        client: "SQSClient",
        queue_url: str,
        backoff: Backoff | None = None,
        wait_seconds: int = WAIT_SECONDS,
    ) -> None:
        self._client = client
        self._queue_url = queue_url
        self._backoff = backoff or Backoff()
        self._wait_seconds = wait_seconds

    def take(self, *, deadline: Deadline, hide_seconds: int | None = None) -> list[Message]:
        """Receive up to ten dead letters; returns none if none is visible.

        They stay invisible to others for *hide_seconds*, or for the queue's visibility timeout.
        """
        hide: Any = {} if hide_seconds is None else {"VisibilityTimeout": hide_seconds}
        response = self._call(
            self._client.receive_message,
            "receive dead letters from",
            deadline,
            MaxNumberOfMessages=BATCH_LIMIT,
            WaitTimeSeconds=self._wait_seconds,
            MessageSystemAttributeNames=["ApproximateReceiveCount", "SentTimestamp"],
            **hide,
        )
        return [_message(message) for message in response.get("Messages", [])]

    def delete(self, messages: Sequence[Message], *, deadline: Deadline) -> list[Message]:
        """Delete dead letters; returns those that SQS did not delete: they are replayed again."""
        delete = partial(
            self._call, self._client.delete_message_batch, "delete dead letters of", deadline
        )
        return self._in_tens(delete, messages)

    def put_back(self, messages: Sequence[Message], *, deadline: Deadline) -> None:
        """Make dead letters visible again at once."""
        change = self._client.change_message_visibility_batch
        show = partial(self._call, change, "make dead letters visible in", deadline)
        self._in_tens(show, messages, VisibilityTimeout=0)

    def count(self, *, deadline: Deadline) -> Waiting:
        names = ("", "NotVisible", "Delayed")
        call, action = self._client.get_queue_attributes, "count the dead letters in"
        counts = self._call(call, action, deadline, AttributeNames=["All"])["Attributes"]
        return Waiting(*(int(counts[f"ApproximateNumberOfMessages{name}"]) for name in names))

    def _call(
        self, call: Callable[..., Any], action: str, deadline: Deadline, **request: Any
    ) -> Any:
        request["QueueUrl"] = self._queue_url
        action = f"{action} {self._queue_url}"
        return call_with_retry(call, action, self._backoff, deadline, **request)

    def _in_tens(
        self, call: Callable[..., Any], messages: Sequence[Message], **extra: Any
    ) -> list[Message]:
        failed: list[Message] = []
        for batch in batched(messages, BATCH_LIMIT):
            entries = [
                {"Id": str(place), "ReceiptHandle": message.receipt, **extra}
                for place, message in enumerate(batch)
            ]
            failed += [
                batch[int(failure["Id"])] for failure in call(Entries=entries).get("Failed", [])
            ]
        return failed


def _message(message: Any) -> Message:
    attributes = message.get("Attributes", {})
    return Message(
        id=message["MessageId"],
        receipt=message["ReceiptHandle"],
        body=message["Body"],
        sent=int(attributes.get("SentTimestamp", 0)) / 1000,
        received=int(attributes.get("ApproximateReceiveCount", 1)),
    )
