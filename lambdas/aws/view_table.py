"""The AdminViewTable, written in batches. Only `owned_rows` writes to it besides."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from lambdas.aws.deadline import Deadline
from lambdas.aws.retry import Backoff, code_of, passes
from lambdas.aws.together import chunks, crew, together
from lambdas.aws.writers import UnsendableRowError, Writer
from lambdas.model.errors import kind_of
from lambdas.model.row import RowKey, key_of
from lambdas.pipeline.fold import Write

BATCH_LIMIT = 25  # writes per call, set by BatchWriteItem
REFUSALS = {
    "ValidationException",
    "ItemCollectionSizeLimitExceededException",
    "SerializationException",
    "413",  # over 16 MB: botocore escapes text, so 25 rows can come to more
    "RequestEntityTooLarge",
    "ParamValidationError",  # botocore's own check, before anything is sent
}


@dataclass(slots=True)
class Outcome:
    """What became of writes."""

    written: list[Write] = field(default_factory=list)
    unwritten: list[Write] = field(default_factory=list)  # in time; trying again may help
    refused: list[tuple[Write, str]] = field(default_factory=list)  # for good, with the code
    trouble: set[str] = field(default_factory=set)  # codes of what stood in the way

    def add(self, other: "Outcome") -> None:
        """Take another outcome's writes in."""
        self.written += other.written
        self.unwritten += other.unwritten
        self.refused += other.refused
        self.trouble |= other.trouble


class ViewTable:
    """Repeatable, batched writes to one table."""

    def __init__(self, writer: Writer, name: str, backoff: Backoff | None = None) -> None:
        self._writer = writer
        self._name = name
        self._backoff = backoff or Backoff()
        self._crew = crew()

    def write(self, writes: Iterable[Write], *, until: Deadline) -> Outcome:
        """Apply *writes*, in any order, and tell which DynamoDB would not take, in time or at all.

        Returns only when no call is under way any more: a write that landed after the next batch's
        could undo it.
        """
        calls = list(chunks(list(writes), BATCH_LIMIT))
        outcome = Outcome()
        for result in together(lambda call: self._write_call(call, until), calls, self._crew):
            outcome.add(result)
        return outcome

    def _write_call(self, writes: Sequence[Write], until: Deadline) -> Outcome:
        """Write what fits one call, again and again until it is in or the time is over."""
        outcome = Outcome()
        attempt = 0
        while writes and not until.passed:
            try:
                left = self._send(writes)
            except (UnsendableRowError, RecursionError) as error:  # values are recursed into
                outcome.add(self._divide(writes, kind_of(error), until))
                return outcome
            except (ClientError, BotoCoreError) as error:
                code = code_of(error)
                if code in REFUSALS:
                    outcome.add(self._divide(writes, code, until))
                    return outcome
                outcome.trouble.add(code)
                if not passes(error):
                    break
                left = writes
            remaining = {write.key for write in left}
            outcome.written += [write for write in writes if write.key not in remaining]
            writes = left
            if writes:
                self._backoff.pause(attempt, until)
                attempt += 1
        outcome.unwritten += writes
        return outcome

    def _divide(self, writes: Sequence[Write], code: str, until: Deadline) -> Outcome:
        """Halve a call that was refused for one of its rows, until that row stands alone."""
        if len(writes) == 1:
            return Outcome(refused=[(writes[0], code)])
        middle = len(writes) // 2
        outcome = self._write_call(writes[:middle], until)
        outcome.add(self._write_call(writes[middle:], until))
        return outcome

    def _send(self, writes: Sequence[Write]) -> Sequence[Write]:
        """Make one call, and return the writes that DynamoDB left unprocessed."""
        unprocessed = self._writer.send(self._name, writes)
        left = {_key_of(request) for request in unprocessed}
        return [write for write in writes if write.key in left] if left else ()


def _key_of(request: Any) -> RowKey:
    """Find the row that an unprocessed request is about."""
    if "PutRequest" in request:
        return key_of(request["PutRequest"]["Item"])
    return key_of(request["DeleteRequest"]["Key"])
