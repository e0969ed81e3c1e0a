"""The dead-letter queue: where records wait that could not be synced."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from adminview.aws.clients import Clients
from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, error_code, is_transient
from adminview.model.dead_letter import OutgoingLetter

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

BATCH_LIMIT = 10  # messages per call, set by SQS
CALL_LIMIT = 256 * 1024  # bytes per call, the least that SQS has ever taken


class DeadLetterSink(Protocol):
    """Where dead letters go."""

    def send(
        self, letters: Sequence[OutgoingLetter], *, deadline: Deadline
    ) -> tuple[list[OutgoingLetter], set[str]]:
        """Send *letters*; return those that were not accepted, and the codes of the errors."""


class DeadLetterProducer:
    """Dead letters to one SQS queue."""

    def __init__(self, client: "SQSClient", queue_url: str, backoff: Backoff | None = None) -> None:
        self._client = client
        self._queue_url = queue_url
        self._backoff = backoff or Backoff()

    def send(
        self,
        letters: Sequence[OutgoingLetter],
        *,
        deadline: Deadline,
        delay_seconds: int | None = None,
    ) -> tuple[list[OutgoingLetter], set[str]]:
        """Send *letters*; return those the queue would not take in time, and what it said.

        A letter stays invisible for its own delay, else for *delay_seconds*, else for the queue's.
        """
        unsent: list[OutgoingLetter] = []
        trouble: set[str] = set()
        for call in _calls(letters):
            unsent += self._send_call(call, delay_seconds, deadline, trouble)
        return unsent, trouble

    def _send_call(
        self,
        letters: Sequence[OutgoingLetter],
        delay: int | None,
        deadline: Deadline,
        trouble: set[str],
    ) -> Sequence[OutgoingLetter]:
        attempt = 0
        while letters and not deadline.passed:
            try:
                letters, hopeless = self._send_once(letters, delay, trouble)
            except (ClientError, BotoCoreError) as error:
                trouble.add(error_code(error))
                hopeless = not is_transient(error)
            if hopeless:
                break
            if letters:
                self._backoff.pause(attempt, deadline)
                attempt += 1
        return letters

    def _send_once(
        self, letters: Sequence[OutgoingLetter], delay: int | None, trouble: set[str]
    ) -> tuple[Sequence[OutgoingLetter], bool]:
        """Make one call: what is left of *letters*, and whether trying again is in vain."""
        entries: list[Any] = [
            {"Id": str(place), "MessageBody": letter.body, **_delay(letter, delay)}
            for place, letter in enumerate(letters)
        ]
        response = self._client.send_message_batch(QueueUrl=self._queue_url, Entries=entries)
        failed = response.get("Failed") or []
        # Not in either list: the response is not one of SQS, whoever sent it.
        sent = {success.get("Id") for success in response.get("Successful") or []}
        left = [letter for place, letter in enumerate(letters) if str(place) not in sent]
        trouble.update(failure.get("Code", "Unknown") for failure in failed)
        if len(left) > len(failed):
            trouble.add("NotFromAwsError")
        hopeless = sum(bool(failure.get("SenderFault")) for failure in failed)
        return left, bool(left) and len(left) == hopeless


class LazyDeadLetterProducer:
    """A queue whose client is made when there is a dead letter to send."""

    def __init__(self, clients: Clients, queue_url: str) -> None:
        self._clients = clients
        self._queue_url = queue_url

    def send(
        self, letters: Sequence[OutgoingLetter], *, deadline: Deadline
    ) -> tuple[list[OutgoingLetter], set[str]]:
        """Send *letters*; return those that were not accepted, and the codes of the errors."""
        if not letters:
            return [], set()
        return DeadLetterProducer(self._clients.sqs, self._queue_url).send(
            letters, deadline=deadline
        )


def _delay(letter: OutgoingLetter, otherwise: int | None) -> dict[str, int]:
    seconds = otherwise if letter.delay_seconds is None else letter.delay_seconds
    return {} if seconds is None else {"DelaySeconds": seconds}


def _calls(letters: Sequence[OutgoingLetter]) -> Iterator[Sequence[OutgoingLetter]]:
    """Cut letters into calls that SQS takes."""
    call: list[OutgoingLetter] = []
    size = 0
    for letter in letters:
        letter_size = len(letter.body.encode())
        if call and (len(call) == BATCH_LIMIT or size + letter_size > CALL_LIMIT):
            yield call
            call, size = [], 0
        call.append(letter)
        size += letter_size
    if call:
        yield call
