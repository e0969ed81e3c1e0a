"""The AdminViewTable, written in batches. Only `owned_rows` writes to it besides."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from lambdas.aws.deadline import Deadline
from lambdas.aws.retry import Backoff, code_of, passes
from lambdas.aws.together import chunks
from lambdas.aws.writers import Call, Failure, Unprocessed, UnsendableRowError, Writer
from lambdas.model.errors import kind_of
from lambdas.model.row import RowKey, key_of
from lambdas.pipeline.fold import Write

BATCH_LIMIT = 25  # writes per call, set by BatchWriteItem
REFUSALS = {
    "ValidationException",
    "ItemCollectionSizeLimitExceededException",
    "SerializationException",
    "413",  # over 16 MB: JSON is longer than what DynamoDB counts, so 25 rows can come to more
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


@dataclass(slots=True)
class Again:
    """What is to be sent once more: refused calls in halves, and writes that were left."""

    halves: list[Call] = field(default_factory=list)
    later: list[Write] = field(default_factory=list)


class ViewTable:
    """Repeatable, batched writes to one table."""

    def __init__(self, writer: Writer, name: str, backoff: Backoff | None = None) -> None:
        self._writer = writer
        self._name = name
        self._backoff = backoff or Backoff()

    def write(self, writes: Iterable[Write], *, until: Deadline) -> Outcome:
        """Apply *writes*, in any order, and tell which DynamoDB would not take, in time or at all.

        Returns only when no call is under way any more: a write that landed after the next batch's
        could undo it.
        """
        outcome = Outcome()
        calls: list[Call] = list(chunks(list(writes), BATCH_LIMIT))
        attempt = 0
        while calls and not until.passed:
            again = Again()
            results = self._writer.send(self._name, calls, until)
            for call, result in zip(calls, results, strict=True):
                if result is None:
                    outcome.unwritten += call
                elif isinstance(result, Exception):
                    _fail(call, result, outcome, again)
                else:
                    _succeed(call, result, outcome, again)
            calls = [*again.halves, *chunks(again.later, BATCH_LIMIT)]
            if again.later:
                self._backoff.pause(attempt, until)
                attempt += 1
        outcome.unwritten += (write for call in calls for write in call)
        return outcome


def _succeed(call: Call, unprocessed: Unprocessed, outcome: Outcome, again: Again) -> None:
    """Take note of what is written, and of what DynamoDB left."""
    if not unprocessed:
        outcome.written += call
        return
    left = {_key_of(request) for request in unprocessed}
    outcome.written += (write for write in call if write.key not in left)
    again.later += (write for write in call if write.key in left)


def _fail(call: Call, error: Failure, outcome: Outcome, again: Again) -> None:
    """Tell a row's fault from what passes, and that from what does not."""
    if isinstance(error, UnsendableRowError | RecursionError):
        again.halves += _divide(call, kind_of(error), outcome)
    elif (code := code_of(error)) in REFUSALS:
        again.halves += _divide(call, code, outcome)
    else:
        outcome.trouble.add(code)
        if passes(error):
            again.later += call
        else:
            outcome.unwritten += call


def _divide(call: Call, code: str, outcome: Outcome) -> Iterator[Call]:
    """Halve a call that was refused for one of its rows; a row that stands alone is the one."""
    if len(call) == 1:
        outcome.refused.append((call[0], code))
        return
    middle = len(call) // 2
    yield call[:middle]
    yield call[middle:]


def _key_of(request: dict[str, dict[str, dict[str, dict[str, str]]]]) -> RowKey:
    """Find the row that an unprocessed request is about."""
    if "PutRequest" in request:
        return key_of(request["PutRequest"]["Item"])
    return key_of(request["DeleteRequest"]["Key"])
