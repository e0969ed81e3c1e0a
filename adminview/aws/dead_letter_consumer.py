"""The dead-letter queue, as it is read: letters are taken up, and then deleted or put back."""

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

WAIT_SECONDS = 1  # for letters to come: only a call that waits asks all of SQS' servers


@dataclass(frozen=True, slots=True)
class Message:
    """A letter that was taken up: nobody else sees it for a while."""

    id: str
    receipt: str
    body: str
    sent: float  # seconds since 1970
    received: int  # how often it was taken up


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many letters there are, about: SQS itself does not know exactly."""

    ready: int
    taken: int  # by somebody, or by a try that did not end well
    delayed: int

    @property
    def resting(self) -> int:
        """Count those that cannot be seen now."""
        return self.taken + self.delayed


class DeadLetterConsumer:
    """Letters of one SQS queue."""

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
        """Take up some letters, at most ten; none if none is ready.

        Nobody else sees them for as long as the queue says, or for *hide_seconds*.
        """
        hide: Any = {} if hide_seconds is None else {"VisibilityTimeout": hide_seconds}
        call = partial(
            self._client.receive_message,
            QueueUrl=self._queue_url,
            MaxNumberOfMessages=BATCH_LIMIT,
            WaitTimeSeconds=self._wait_seconds,
            MessageSystemAttributeNames=["ApproximateReceiveCount", "SentTimestamp"],
            **hide,
        )
        answer = call_with_retry(
            call, f"take letters from {self._queue_url}", self._backoff, deadline
        )
        return [_message(one) for one in answer.get("Messages", [])]

    def delete(self, messages: Sequence[Message], *, deadline: Deadline) -> list[Message]:
        """Delete letters, and return those that stayed: harmless, they are tried again."""
        delete = partial(self._client.delete_message_batch, QueueUrl=self._queue_url)
        return self._in_tens(delete, messages, {}, f"delete letters of {self._queue_url}", deadline)

    def put_back(self, messages: Sequence[Message], *, deadline: Deadline) -> None:
        """Let others see letters again at once."""
        change = partial(self._client.change_message_visibility_batch, QueueUrl=self._queue_url)
        self._in_tens(
            change,
            messages,
            {"VisibilityTimeout": 0},
            f"put letters back into {self._queue_url}",
            deadline,
        )

    def count(self, *, deadline: Deadline) -> Waiting:
        """Count the letters in the queue."""
        names = ("", "NotVisible", "Delayed")
        call = partial(
            self._client.get_queue_attributes,
            QueueUrl=self._queue_url,
            AttributeNames=["All"],
        )
        said: Any = call_with_retry(
            call, f"count the letters in {self._queue_url}", self._backoff, deadline
        )["Attributes"]
        return Waiting(*(int(said[f"ApproximateNumberOfMessages{name}"]) for name in names))

    def _in_tens(
        self,
        call: Callable[..., Any],
        messages: Sequence[Message],
        more: dict[str, Any],
        asked: str,
        deadline: Deadline,
    ) -> list[Message]:
        failed: list[Message] = []
        for share in batched(messages, BATCH_LIMIT):
            entries = [
                {"Id": str(place), "ReceiptHandle": message.receipt, **more}
                for place, message in enumerate(share)
            ]
            answer = call_with_retry(partial(call, Entries=entries), asked, self._backoff, deadline)
            failed += [share[int(one["Id"])] for one in answer.get("Failed", [])]
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
