"""Sends dead letters to the queue."""

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
CALL_LIMIT = 256 * 1024  # bytes per call, the lowest limit that SQS has had


class DeadLetterSink(Protocol):
    """Accepts dead letters."""

    def send(
        self, letters: Sequence[OutgoingLetter], *, deadline: Deadline
    ) -> tuple[list[OutgoingLetter], set[str]]:
        """Send *letters*; return those that were not accepted, and the codes of the errors."""


class DeadLetterProducer:
    """Sends dead letters to one SQS queue."""

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
        """Send *letters*; return those that were not accepted, and the codes of the errors.

        A dead letter stays invisible for its own delay, else *delay_seconds*, else the queue's.
        """
        unsent: list[OutgoingLetter] = []
        codes: set[str] = set()
        for call in _calls(letters):
            unsent += self._send_call(call, delay_seconds, deadline, codes)
        return unsent, codes

    def _send_call(
        self,
        letters: Sequence[OutgoingLetter],
        delay: int | None,
        deadline: Deadline,
        codes: set[str],
    ) -> Sequence[OutgoingLetter]:
        attempt = 0
        while letters and not deadline.passed:
            try:
                letters, hopeless = self._send_once(letters, delay, codes)
            except (ClientError, BotoCoreError) as error:
                codes.add(error_code(error))
                hopeless = not is_transient(error)
            if hopeless:
                break
            if letters:
                self._backoff.pause(attempt, deadline)
                attempt += 1
        return letters

    def _send_once(
        self, letters: Sequence[OutgoingLetter], delay: int | None, codes: set[str]
    ) -> tuple[Sequence[OutgoingLetter], bool]:
        """Make one call; return the unsent *letters*, and whether a retry is useless."""
        entries: list[Any] = [
            {"Id": str(place), "MessageBody": letter.body, **_delay(letter, delay)}
            for place, letter in enumerate(letters)
        ]
        response = self._client.send_message_batch(QueueUrl=self._queue_url, Entries=entries)
        failed = response.get("Failed") or []
        # A message in neither list: the response does not come from SQS.
        sent = {success.get("Id") for success in response.get("Successful") or []}
        left = [letter for place, letter in enumerate(letters) if str(place) not in sent]
        codes.update(failure.get("Code", "Unknown") for failure in failed)
        if len(left) > len(failed):
            codes.add("NotFromAwsError")
        hopeless = sum(bool(failure.get("SenderFault")) for failure in failed)
        return left, bool(left) and len(left) == hopeless


class LazyDeadLetterProducer:
    """Sends dead letters to one SQS queue; creates its client with the first one."""

    def __init__(self, clients: Clients, queue_url: str) -> None:
        self._clients = clients
        self._queue_url = queue_url

    def send(
        self, letters: Sequence[OutgoingLetter], *, deadline: Deadline
    ) -> tuple[list[OutgoingLetter], set[str]]:
        if not letters:
            return [], set()
        return DeadLetterProducer(self._clients.sqs, self._queue_url).send(
            letters, deadline=deadline
        )


def _delay(letter: OutgoingLetter, default: int | None) -> dict[str, int]:
    seconds = default if letter.delay_seconds is None else letter.delay_seconds
    return {} if seconds is None else {"DelaySeconds": seconds}


def _calls(letters: Sequence[OutgoingLetter]) -> Iterator[Sequence[OutgoingLetter]]:
    """Split dead letters into calls within SQS' limits."""
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
