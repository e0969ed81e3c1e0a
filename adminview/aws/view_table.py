"""The AdminViewTable, written in batches. Only `owned_rows` writes to it besides."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from adminview.aws.batch_writers import OPERATION, Call, Failure, UnsendableRowError, Writer
from adminview.aws.call_errors import CallErrors
from adminview.aws.call_owners import Owners
from adminview.aws.concurrency import batched
from adminview.aws.deadline import Deadline
from adminview.aws.responses import NotFromAwsError, is_in_doubt
from adminview.aws.retry import Backoff, error_code, is_transient
from adminview.model.errors import kind_of
from adminview.model.row import RowKey, key_of
from adminview.sync.fold import Write

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
class WriteOutcome:
    """What became of writes."""

    rows_put: int = 0
    rows_deleted: int = 0
    unwritten: list[Write] = field(default_factory=list)  # in time; trying again may help
    refused: list[tuple[Write, str]] = field(default_factory=list)  # for good, with the code
    errors: CallErrors = field(default_factory=CallErrors)
    # Rows of calls that ended without a response, and their owners: such a call may still arrive.
    in_doubt: dict[RowKey, str] = field(default_factory=dict)
    # Owners of rows, per call of an earlier write that was found to be in doubt meanwhile.
    earlier_in_doubt: list[Owners] = field(default_factory=list)
    unanswered: int = 0  # all those calls

    def __iadd__(self, other: "WriteOutcome") -> Self:
        """Add what became of another part."""
        self.rows_put += other.rows_put
        self.rows_deleted += other.rows_deleted
        self.unwritten += other.unwritten
        self.refused += other.refused
        self.errors.update(other.errors)
        self.in_doubt |= other.in_doubt
        self.earlier_in_doubt += other.earlier_in_doubt
        self.unanswered += other.unanswered
        return self

    @property
    def written(self) -> int:
        """Count the rows that were written."""
        return self.rows_put + self.rows_deleted


@dataclass(slots=True)
class RetryQueue:
    """What is to be sent once more: refused calls in halves, and writes that were left."""

    halves: list[Call] = field(default_factory=list)
    later: list[Write] = field(default_factory=list)


class ViewTable:
    """Repeatable, batched writes to one table."""

    def __init__(self, writer: Writer, name: str, backoff: Backoff | None = None) -> None:
        self._writer = writer
        self._name = name
        self._backoff = backoff or Backoff()

    def write(
        self, writes: Iterable[Write], *, deadline: Deadline, into: WriteOutcome | None = None
    ) -> WriteOutcome:
        """Apply *writes*, in any order, and tell which DynamoDB would not take, in time or at all.

        Returns when every call has ended. A call that ended without a response may still take
        effect: `Outcome.in_doubt` names its rows. If this raises, *into* has them. A call whose
        response may have been another's is in doubt, too, and is not repeated. One of an earlier
        write may only be found now, also if there is nothing to write.
        """
        outcome = WriteOutcome() if into is None else into
        writes = list(writes)
        calls: list[Call] = list(batched(writes, BATCH_LIMIT))
        attempt = 0
        while calls and not deadline.passed:
            again = RetryQueue()
            try:
                results = self._writer.send(self._name, calls, deadline)
            except BaseException:
                outcome.in_doubt.update((one.key, one.owner) for call in calls for one in call)
                raise
            for call, result in zip(calls, results, strict=True):
                if result is None:
                    outcome.unwritten += call
                elif isinstance(result, Exception):
                    _fail(call, result, outcome, again)
                else:
                    self._succeed(call, result, outcome, again)
            calls = [*again.halves, *batched(again.later, BATCH_LIMIT)]
            if again.later:
                self._backoff.pause(attempt, deadline)
                attempt += 1
        outcome.unwritten += (write for call in calls for write in call)
        if found := self._writer.find_in_doubt():
            _doubt(found, writes, outcome)
        return outcome

    def _succeed(
        self, call: Call, response: Mapping[str, Any], outcome: WriteOutcome, again: RetryQueue
    ) -> None:
        """Count what is written, and keep what DynamoDB left for later."""
        left = self._left(call, response["UnprocessedItems"])
        if left is None:
            error = NotFromAwsError(operation=OPERATION, member="list of requests")
            return _fail(call, error, outcome, again)
        if left:
            outcome.errors.add_unprocessed(response)
        return _count(call, left, outcome, again)

    def _left(self, call: Call, unprocessed: Mapping[str, Any]) -> Collection[RowKey] | None:
        """Read which rows were not written; None if that is not about this call."""
        if not unprocessed:
            return ()
        try:
            left = {_key_of(request) for request in unprocessed[self._name]}
        except (AttributeError, LookupError, TypeError):
            return None
        is_ours = len(unprocessed) == 1 and left <= {write.key for write in call}
        return left if is_ours else None


def _count(call: Call, left: Collection[RowKey], outcome: WriteOutcome, again: RetryQueue) -> None:
    for write in call:
        if write.key in left:
            again.later.append(write)
        elif write.row is None:
            outcome.rows_deleted += 1
        else:
            outcome.rows_put += 1


def _fail(call: Call, error: Failure, outcome: WriteOutcome, again: RetryQueue) -> None:
    """Classify a failed call: bad row, transient, or fatal."""
    if isinstance(error, UnsendableRowError | RecursionError):
        again.halves += _divide(call, kind_of(error), outcome)
    elif (code := error_code(error)) in REFUSALS:
        again.halves += _divide(call, code, outcome)
    else:
        outcome.errors.add(error)
        if is_in_doubt(error):
            outcome.unanswered += 1
            outcome.in_doubt.update((write.key, write.owner) for write in call)
        if is_transient(error):
            again.later += call
        else:
            outcome.unwritten += call


def _doubt(found: Sequence[Owners], writes: Sequence[Write], outcome: WriteOutcome) -> None:
    """Add calls that were found to be in doubt after they were answered."""
    outcome.unanswered += len(found)
    owners = {owner for call in found for owner in call}
    rows = {write.key: write.owner for write in writes if write.owner in owners}
    outcome.in_doubt.update(rows)
    known = set(rows.values())
    earlier = (tuple(owner for owner in call if owner not in known) for call in found)
    outcome.earlier_in_doubt += filter(None, earlier)


def _divide(call: Call, code: str, outcome: WriteOutcome) -> Iterator[Call]:
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
