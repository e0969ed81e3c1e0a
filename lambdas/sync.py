"""Stream records in, view rows out."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypedDict

from lambdas.aws.deadline import Deadline
from lambdas.aws.runtime import LONGEST_CALL, Invocation, Runtime, runtime
from lambdas.aws.view_table import Outcome
from lambdas.model.errors import RefusedRowError, UnreadableRecordError
from lambdas.model.row import RowKey
from lambdas.pipeline.decode import Route, StreamRecord, decode
from lambdas.pipeline.letter import Letter
from lambdas.pipeline.prepare import Batch, Fate, prepare, sequence_at
from lambdas.pipeline.tally import Tally

# A call that was begun in time may take this long; then letters, log and report must still fit.
LETTERS_RESERVE = LONGEST_CALL + 1
WRITES_RESERVE = LONGEST_CALL + LETTERS_RESERVE


class StreamEvent(TypedDict):
    """What Lambda delivers."""

    Records: Sequence[StreamRecord]


class BatchItemFailure(TypedDict):
    """A record that must be delivered again, with all that follow it."""

    itemIdentifier: str


class PartialBatchResponse(TypedDict):
    """What Lambda wants to hear; no failures means that all is done."""

    batchItemFailures: list[BatchItemFailure]


def handler(event: StreamEvent, context: Invocation) -> PartialBatchResponse:
    """Sync one batch, and name the records the stream must deliver again."""
    return sync(event, context, runtime())


def sync(event: StreamEvent, context: Invocation, with_: Runtime) -> PartialBatchResponse:
    """Sync one batch with a given runtime."""
    if "Records" not in event:
        msg = "the event has no Records: this function takes the events of DynamoDB streams"
        raise UnreadableRecordError(msg)
    with_.observer.invoked(context)
    end = Deadline.after(context.get_remaining_time_in_millis() / 1000)
    batch = prepare(event["Records"], with_.routes, with_.model)
    outcome = with_.view.write(batch.writes, until=end.earlier(WRITES_RESERVE))
    _set_refused_aside(batch, outcome, with_.routes)
    checkpoint = min((write.first for write in outcome.unwritten), default=len(batch.records))
    sent, unsent = _send_letters(batch, checkpoint, outcome, with_, end.earlier(LETTERS_RESERVE))
    checkpoint = min((letter.position for letter in unsent), default=checkpoint)
    tally = _tally(batch, outcome, checkpoint, len(sent), with_.now())
    with_.observer.synced(tally, sent, outcome.trouble)
    if checkpoint == len(batch.records):
        return {"batchItemFailures": []}
    return {"batchItemFailures": [{"itemIdentifier": sequence_at(batch.records, checkpoint)}]}


def _send_letters(
    batch: Batch, checkpoint: int, outcome: Outcome, with_: Runtime, until: Deadline
) -> tuple[list[Letter], list[Letter]]:
    """Send the letters of the records before *checkpoint*: which were sent, and which were not.

    They go last, when the batch's writes are in: a replay that came before them would miss the rows
    they write. Those behind the checkpoint are written anew when their records come again.
    """
    due = [letter for letter in batch.letters if letter.position < checkpoint]
    unsent, trouble = with_.dead_letters.send(due, until=until)
    outcome.trouble.update(f"dead-letter queue: {code}" for code in trouble if unsent)
    returned = {id(letter) for letter in unsent}
    return [letter for letter in due if id(letter) not in returned], unsent


def _set_refused_aside(batch: Batch, outcome: Outcome, routes: Mapping[str, Route]) -> None:
    """Set aside the records whose rows DynamoDB itself would not take; one letter for each."""
    refused = {write.last: code for write, code in outcome.refused}
    rows: defaultdict[str, list[RowKey]] = defaultdict(list)
    for write in batch.writes if refused else ():
        rows[write.owner].append(write.key)
    for position, code in refused.items():
        error = RefusedRowError(f"DynamoDB refused a row of this item: {code}")
        change = decode(batch.records[position], routes)
        batch.set_aside(position, change, error, rows[change.owner])
    for write, _ in outcome.refused:
        batch.fates[write.first] = batch.fates[write.last] = Fate.SET_ASIDE


def _tally(batch: Batch, outcome: Outcome, checkpoint: int, letters: int, now: float) -> Tally:
    deleted = sum(write.row is None for write in outcome.written)
    return Tally.of(
        batch.fates,
        checkpoint,
        source=batch.source,
        rows_put=len(outcome.written) - deleted,
        rows_deleted=deleted,
        letters=letters,
        lag_seconds=max(0.0, now - batch.newest) if batch.newest else None,
    )
