"""The sync function: stream records in, view rows out."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import TypedDict

from adminview.aws.call_owners import Owners
from adminview.aws.deadline import LONGEST_CALL, Deadline
from adminview.aws.view_table import WriteOutcome
from adminview.model.dead_letter import Origin, OutgoingLetter, TouchedItem
from adminview.model.errors import RefusedRowError, UnreadableRecordError
from adminview.model.row import RowKey
from adminview.runtime import InvocationContext, Runtime, runtime
from adminview.sync.counts import BatchCounts
from adminview.sync.dead_letter import in_doubt_letters
from adminview.sync.decode import Route, StreamRecord, decode
from adminview.sync.fold import Fold, Write
from adminview.sync.plan import Batch, RecordOutcome, plan_batch, sequence_at

# The last call may take this long; then dead letters, log and report must still fit.
LETTERS_RESERVE = LONGEST_CALL + 1
# To load boto3 and create the SQS client, which most invocations do not need.
CLIENT_SECONDS = 2
WRITES_RESERVE = LONGEST_CALL + CLIENT_SECONDS + LETTERS_RESERVE


class StreamEvent(TypedDict):
    Records: Sequence[StreamRecord]


class BatchItemFailure(TypedDict):
    """A record from which Lambda must redeliver the batch."""

    itemIdentifier: str


class PartialBatchResponse(TypedDict):
    """Lambda's partial batch response; no failures means success."""

    batchItemFailures: list[BatchItemFailure]


def handle(event: StreamEvent, context: InvocationContext) -> PartialBatchResponse:
    """Sync one batch and return the record from which Lambda must redeliver, if any."""
    return sync(event, context, runtime())


def sync(event: StreamEvent, context: InvocationContext, runtime: Runtime) -> PartialBatchResponse:
    if "Records" not in event:
        msg = "the event has no Records: this function takes events of DynamoDB Streams"
        raise UnreadableRecordError(msg)
    runtime.observer.invoked(context.aws_request_id)
    end = Deadline.after(context.get_remaining_time_in_millis() / 1000)
    batch = Batch(event["Records"], runtime.model)
    # Before the first write: these dead letters are lost if this invocation is killed.
    kept = _send_in_doubt(
        runtime, end.earlier(WRITES_RESERVE).within(CLIENT_SECONDS + LONGEST_CALL)
    )
    try:
        total = _write_parts(batch, runtime, end.earlier(WRITES_RESERVE))
    except BaseException:
        # The batch is redelivered, but nothing else remembers the calls in doubt.
        _send_in_doubt(runtime, end.earlier(LETTERS_RESERVE))
        raise
    checkpoint = min((write.first for write in total.unwritten), default=len(batch.records))
    sent, unsent = _send_letters(batch, checkpoint, total, runtime, end.earlier(LETTERS_RESERVE))
    checkpoint = min([checkpoint, *(letter.position for letter in unsent)])
    sent = [*kept, *sent]
    runtime.observer.synced(
        _count(batch, total, checkpoint, len(sent), runtime), sent, total.errors
    )
    if checkpoint == len(batch.records):
        return {"batchItemFailures": []}
    return {"batchItemFailures": [{"itemIdentifier": sequence_at(batch.records, checkpoint)}]}


def _write_parts(batch: Batch, runtime: Runtime, deadline: Deadline) -> WriteOutcome:
    """Plan and write the parts of a batch in order; stop after the first incomplete one."""
    total = WriteOutcome()
    # An empty write first: it reports calls in doubt of the previous batch.
    for writes in chain([Fold()], plan_batch(batch, runtime.routes)):
        outcome = WriteOutcome()
        try:
            runtime.view.write(writes, deadline=deadline, into=outcome)
        finally:
            if outcome.in_doubt:
                runtime.in_doubt.extend(_in_doubt(batch, writes, outcome, runtime))
            for owners in outcome.earlier_in_doubt:
                runtime.in_doubt.extend(_earlier_in_doubt(owners, runtime))
        _dead_letter_refused(batch, writes, outcome, runtime.routes)
        total += outcome
        if total.unwritten:
            break
    return total


def _in_doubt(
    batch: Batch, writes: Iterable[Write], outcome: WriteOutcome, runtime: Runtime
) -> Iterator[OutgoingLetter]:
    """Yield dead letters about rows that a call without a response may still write."""
    touched: defaultdict[str, list[Write]] = defaultdict(list)
    for write in writes:
        if write.key in outcome.in_doubt:
            touched[write.owner].append(write)
    changes = [decode(batch.records[group[0].last], runtime.routes) for group in touched.values()]
    items = [
        TouchedItem(
            key=change.key, owner=change.owner, rows=frozenset(write.key for write in group)
        )
        for change, group in zip(changes, touched.values(), strict=True)
    ]
    yield from _letters(changes[0].route, items, runtime)


def _earlier_in_doubt(owners: Owners, runtime: Runtime) -> Iterator[OutgoingLetter]:
    """Yield dead letters about a call of an earlier batch; only its owners are known.

    A replay finds their rows in the owner index, which has caught up by then.
    """
    by_source = {route.source.name: route for route in runtime.routes.values()}
    items: defaultdict[str, list[TouchedItem]] = defaultdict(list)
    for owner in owners:
        source = owner.partition("/")[0]
        key = by_source[source].source.key_from(owner)
        items[source].append(TouchedItem(key=key, owner=owner, rows=frozenset()))
    for source, touched in items.items():
        yield from _letters(by_source[source], touched, runtime)


def _letters(
    route: Route, items: Iterable[TouchedItem], runtime: Runtime
) -> Iterator[OutgoingLetter]:
    origin = Origin(
        source=route.source.name, table=route.table, at=runtime.now(), model=runtime.model
    )
    # Of the first record: until the queue takes it, the whole batch is returned.
    return in_doubt_letters(0, origin, items)


def _send_in_doubt(runtime: Runtime, deadline: Deadline) -> list[OutgoingLetter]:
    """Send the in-doubt dead letters and return them; keep those that the queue rejects."""
    letters = [*runtime.in_doubt]
    with suppress(Exception):
        runtime.in_doubt[:], _ = runtime.dead_letters.send(letters, deadline=deadline)
    kept = {id(letter) for letter in runtime.in_doubt}
    return [letter for letter in letters if id(letter) not in kept]


def _send_letters(
    batch: Batch, checkpoint: int, total: WriteOutcome, runtime: Runtime, deadline: Deadline
) -> tuple[list[OutgoingLetter], list[OutgoingLetter]]:
    """Send the dead letters of the records before *checkpoint*; return the sent and unsent ones.

    They are sent after the batch's writes: an earlier replay would miss the rows. Records after the
    checkpoint are redelivered, which creates their dead letters again. All in-doubt dead letters
    are sent, and kept for the next invocation if the queue refuses them: no redelivery would create
    them again.
    """
    due = [letter for letter in batch.letters if letter.position < checkpoint]
    letters = [*runtime.in_doubt, *due]
    unsent, codes = runtime.dead_letters.send(letters, deadline=deadline)
    for code in codes if unsent else ():
        total.errors.add_code(f"dead-letter queue: {code}")
    refused = {id(letter) for letter in unsent}
    sent = [letter for letter in letters if id(letter) not in refused]
    runtime.in_doubt[:] = [letter for letter in runtime.in_doubt if id(letter) in refused]
    return sent, unsent


def _dead_letter_refused(
    batch: Batch, writes: Iterable[Write], outcome: WriteOutcome, routes: Mapping[str, Route]
) -> None:
    """Dead-letter the records whose rows DynamoDB refused, one dead letter for each."""
    refused = {write.last: code for write, code in outcome.refused}
    rows: defaultdict[str, list[RowKey]] = defaultdict(list)
    for write in writes if refused else ():
        rows[write.owner].append(write.key)
    for position, code in refused.items():
        error = RefusedRowError(f"DynamoDB refused a row of this item: {code}")
        change = decode(batch.records[position], routes)
        batch.dead_letter(position, change, error, rows[change.owner])
    for write, _ in outcome.refused:
        batch.outcomes[write.first] = batch.outcomes[write.last] = RecordOutcome.DEAD_LETTERED


def _count(
    batch: Batch, total: WriteOutcome, checkpoint: int, letters: int, runtime: Runtime
) -> BatchCounts:
    return BatchCounts.of(
        batch.outcomes,
        checkpoint,
        records=len(batch.records),
        source=batch.source,
        rows_put=total.rows_put,
        rows_deleted=total.rows_deleted,
        letters=letters,
        in_doubt=total.unanswered,
        lag_seconds=max(0.0, runtime.now() - batch.newest) if batch.newest else None,
    )
