"""Batched writes to AdminViewTable. `RowStore` makes conditional writes; nothing else writes."""

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
    "413",  # over 16 MB: JSON is longer than DynamoDB's count, so 25 rows can exceed it
    "RequestEntityTooLarge",
    "ParamValidationError",  # botocore's own check, before anything is sent
}


@dataclass(slots=True)
class WriteOutcome:
    rows_put: int = 0
    rows_deleted: int = 0
    unwritten: list[Write] = field(default_factory=list)  # before the deadline; a retry may help
    # Permanently, with the error code.
    refused: list[tuple[Write, str]] = field(default_factory=list)
    errors: CallErrors = field(default_factory=CallErrors)
    # Rows of calls without a response, and their owners: such a call may still arrive.
    in_doubt: dict[RowKey, str] = field(default_factory=dict)
    # Owners of rows, per call of an earlier write that was since found to be in doubt.
    earlier_in_doubt: list[Owners] = field(default_factory=list)
    unanswered: int = 0  # the number of calls in doubt

    def __iadd__(self, other: "WriteOutcome") -> Self:
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
        return self.rows_put + self.rows_deleted


@dataclass(slots=True)
class RetryQueue:
    """Writes to send again: halves of refused calls, and unprocessed writes."""

    halves: list[Call] = field(default_factory=list)
    later: list[Write] = field(default_factory=list)


class ViewTable:
    """Idempotent, batched writes to one table."""

    def __init__(self, writer: Writer, name: str, backoff: Backoff | None = None) -> None:
        self._writer = writer
        self._name = name
        self._backoff = backoff or Backoff()

    def write(
        self, writes: Iterable[Write], *, deadline: Deadline, into: WriteOutcome | None = None
    ) -> WriteOutcome:
        """Apply *writes* in any order, and return which ones DynamoDB did not accept.

        Returns when every call has ended. A call without a response may still take effect:
        `WriteOutcome.in_doubt` names its rows. If this raises, *into* has them. A call that may
        have got the response of another call is in doubt too, and is not repeated. A call of an
        earlier write may be found in doubt now, even if there is nothing to write.
        """
        outcome = WriteOutcome() if into is None else into
        writes = list(writes)
        calls: list[Call] = list(batched(writes, BATCH_LIMIT))
        attempt = 0
        while calls and not deadline.passed:
            retries = RetryQueue()
            try:
                results = self._writer.send(self._name, calls, deadline)
            except BaseException:
                outcome.in_doubt.update(
                    (write.key, write.owner) for call in calls for write in call
                )
                raise
            for call, result in zip(calls, results, strict=True):
                if result is None:
                    outcome.unwritten += call
                elif isinstance(result, Exception):
                    _fail(call, result, outcome, retries)
                else:
                    self._succeed(call, result, outcome, retries)
            calls = [*retries.halves, *batched(retries.later, BATCH_LIMIT)]
            if retries.later:
                self._backoff.pause(attempt, deadline)
                attempt += 1
        outcome.unwritten += (write for call in calls for write in call)
        if doubted := self._writer.find_in_doubt():
            _add_doubted(doubted, writes, outcome)
        return outcome

    def _succeed(
        self, call: Call, response: Mapping[str, Any], outcome: WriteOutcome, retries: RetryQueue
    ) -> None:
        """Count written rows, and queue unprocessed ones."""
        left = self._left(call, response["UnprocessedItems"])
        if left is None:
            error = NotFromAwsError(operation=OPERATION, member="list of requests")
            return _fail(call, error, outcome, retries)
        if left:
            outcome.errors.add_unprocessed(response)
        return _count(call, left, outcome, retries)

    def _left(self, call: Call, unprocessed: Mapping[str, Any]) -> Collection[RowKey] | None:
        """Return the unprocessed rows; None if the response does not belong to this call."""
        if not unprocessed:
            return ()
        try:
            left = {_key_of(request) for request in unprocessed[self._name]}
        except (AttributeError, LookupError, TypeError):
            return None
        is_ours = len(unprocessed) == 1 and left <= {write.key for write in call}
        return left if is_ours else None


def _count(
    call: Call, left: Collection[RowKey], outcome: WriteOutcome, retries: RetryQueue
) -> None:
    for write in call:
        if write.key in left:
            retries.later.append(write)
        elif write.row is None:
            outcome.rows_deleted += 1
        else:
            outcome.rows_put += 1


def _fail(call: Call, error: Failure, outcome: WriteOutcome, retries: RetryQueue) -> None:
    """Classify a failed call: bad row, transient, or fatal."""
    if isinstance(error, UnsendableRowError | RecursionError):
        retries.halves += _divide(call, kind_of(error), outcome)
    elif (code := error_code(error)) in REFUSALS:
        retries.halves += _divide(call, code, outcome)
    else:
        outcome.errors.add(error)
        if is_in_doubt(error):
            outcome.unanswered += 1
            outcome.in_doubt.update((write.key, write.owner) for write in call)
        if is_transient(error):
            retries.later += call
        else:
            outcome.unwritten += call


def _add_doubted(doubted: Sequence[Owners], writes: Sequence[Write], outcome: WriteOutcome) -> None:
    """Add calls that were found to be in doubt after they were answered."""
    outcome.unanswered += len(doubted)
    owners = {owner for call in doubted for owner in call}
    rows = {write.key: write.owner for write in writes if write.owner in owners}
    outcome.in_doubt.update(rows)
    known = set(rows.values())
    earlier = (tuple(owner for owner in call if owner not in known) for call in doubted)
    outcome.earlier_in_doubt += filter(None, earlier)


def _divide(call: Call, code: str, outcome: WriteOutcome) -> Iterator[Call]:
    """Split a refused call in halves, to find the bad row; a single row is refused."""
    if len(call) == 1:
        outcome.refused.append((call[0], code))
        return
    middle = len(call) // 2
    yield call[:middle]
    yield call[middle:]


def _key_of(request: dict[str, dict[str, dict[str, dict[str, str]]]]) -> RowKey:
    """Return the key of the row of an unprocessed request."""
    if "PutRequest" in request:
        return key_of(request["PutRequest"]["Item"])
    return key_of(request["DeleteRequest"]["Key"])
