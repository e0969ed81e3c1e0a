"""A batch of records -> writes, dead letters and outcomes, part by part. No I/O.

A part ends when its rows reach PART_BYTES. This bounds the memory of a batch, and parts that were
written stay written when the rest is redelivered.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from adminview.model.dead_letter import OutgoingLetter
from adminview.model.errors import RecordError, RowError
from adminview.model.item import Image
from adminview.model.json_codec import dump_json
from adminview.model.limits import ROW_LIMIT, row_size
from adminview.model.row import Attributes, RowKey
from adminview.sync.dead_letter import dead_letter, identify
from adminview.sync.decode import Change, Route, StreamRecord, decode, sequence_of, table_of
from adminview.sync.derive import NO_JSON, NO_ROWS, DerivedRows, derive
from adminview.sync.diff import diff
from adminview.sync.fold import Fold


class RecordOutcome(Enum):
    """What became of a record."""

    WRITTEN = auto()
    UNCHANGED = auto()  # its rows did not change
    NO_VIEW = auto()  # no view applies to its item
    DEAD_LETTERED = auto()


PART_BYTES: Final = 8 * 1024 * 1024  # of rows in JSON
DERIVED_BYTES: Final = 8 * 1024 * 1024  # of rows cached for the next change of their items
RECORD_BYTES: Final = 4096  # assumed for a record without SizeBytes


@dataclass(slots=True)
class Batch:
    """The state of planning a batch."""

    records: Sequence[StreamRecord]
    model: str
    writes: Fold = field(default_factory=Fold)  # of the current part
    letters: list[OutgoingLetter] = field(default_factory=list)
    outcomes: list[RecordOutcome] = field(default_factory=list)
    # Owner -> last image, its rows and their approximate size, of items that change again.
    derived: dict[str, tuple[Image, DerivedRows, int]] = field(default_factory=dict, repr=False)
    derived_bytes: int = 0
    newest: float = 0.0  # when the newest change was made
    source: str = ""

    def dead_letter(
        self,
        position: int,
        change: Change | None,
        error: RecordError,
        rows: Iterable[RowKey],
    ) -> None:
        origin = identify(self.records[position], change, self.model)
        self.letters.append(dead_letter(position, origin, error, rows))


def plan_batch(
    batch: Batch, routes: Mapping[str, Route], part_bytes: int = PART_BYTES
) -> Iterator[Fold]:
    """Plan a batch and yield the writes of each part.

    A bad record is dead-lettered and affects no other record.
    """
    records = batch.records
    decoded = [_decoded(record, routes) for record in records]
    last = {
        result.owner: position
        for position, result in enumerate(decoded)
        if isinstance(result, Change)
    }
    for position, result in enumerate(decoded):
        if isinstance(result, Change):
            batch.newest = max(batch.newest, result.at)
            batch.source = result.route.source.name
            batch.outcomes.append(
                _add(batch, position, result, again=last[result.owner] > position)
            )
        else:
            batch.dead_letter(position, None, result, ())
            batch.outcomes.append(RecordOutcome.DEAD_LETTERED)
            batch.source = batch.source or _source_of(records[position], routes)
        if batch.writes.size > part_bytes:
            yield batch.writes
            batch.writes = Fold()
    yield batch.writes


def _decoded(record: StreamRecord, routes: Mapping[str, Route]) -> Change | RecordError:
    try:
        return decode(record, routes)
    except RecordError as error:
        return error


def _source_of(record: StreamRecord, routes: Mapping[str, Route]) -> str:
    """Return the source name of an unreadable record, or "" if its table is unknown."""
    try:
        route = routes.get(table_of(record))
    except RecordError:
        return ""
    return route.source.name if route else ""


def _add(batch: Batch, position: int, change: Change, *, again: bool) -> RecordOutcome:
    """Plan one change; *again* if the batch changes its item once more."""
    before, unreadable = _derive_before(batch, change)
    after = NO_ROWS
    try:
        after = derive(change.route.views, change.after, room=None)
        if again and change.after is not None:
            _keep(batch, position, change.owner, change.after, after)
        changes = diff(before.rows, after.rows)
        if changes:
            batch.writes.add(position, change.owner, _serialize(changes, change, batch.model))
    except RecordError as error:
        # A replay may delete the rows that a dead letter names: never name one of another item.
        touched = {*before.rows, *after.rows}
        own = [key for key in touched if not batch.writes.has_another_owner(key, change.owner)]
        batch.dead_letter(position, change, error, own)
        return RecordOutcome.DEAD_LETTERED
    if unreadable:
        # The rows of the old image are unknown, and may be stale in the view.
        batch.dead_letter(position, change, unreadable, after.rows)
        return RecordOutcome.WRITTEN if changes else RecordOutcome.DEAD_LETTERED
    if changes:
        return RecordOutcome.WRITTEN
    return RecordOutcome.UNCHANGED if before.claimed or after.claimed else RecordOutcome.NO_VIEW


def _keep(batch: Batch, position: int, owner: str, image: Image, rows: DerivedRows) -> None:
    """Cache the rows of an item that changes again, within DERIVED_BYTES."""
    record = batch.records[position]["dynamodb"].get("SizeBytes", RECORD_BYTES)
    size = len(rows.rows) * (record if isinstance(record, int) else RECORD_BYTES)
    if batch.derived_bytes + size <= DERIVED_BYTES:
        batch.derived[owner] = (image, rows, size)
        batch.derived_bytes += size


def _derive_before(batch: Batch, change: Change) -> tuple[DerivedRows, RecordError | None]:
    if known := batch.derived.pop(change.owner, None):
        image, rows, size = known
        batch.derived_bytes -= size
        if image == change.before:
            return rows, None
    try:
        return derive(change.route.views, change.before, room=None), None
    except RecordError as error:
        return NO_ROWS, error


def _serialize(
    changes: dict[RowKey, Attributes | None], change: Change, model: str
) -> dict[RowKey, bytes | None]:
    """Serialize the rows to put, with their provenance; raises a RecordError."""
    provenance = change.provenance(model)
    end = b"," + dump_json(provenance)[1:]  # equal for all rows of an item
    rows: dict[RowKey, bytes | None] = {}
    try:
        for key, row in changes.items():
            rows[key] = dump_json(row)[:-1] + end if row else None
    except (RecursionError, TypeError, ValueError) as error:
        _check_sizes(change, provenance)
        raise RowError(NO_JSON) from error
    if max(map(len, filter(None, rows.values())), default=0) > ROW_LIMIT:
        _check_sizes(change, provenance)
    return rows


def _check_sizes(change: Change, provenance: Attributes) -> None:
    """Derive the rows again with size checks, so that an error names its view."""
    derive(change.route.views, change.after, room=ROW_LIMIT - row_size(provenance))


def sequence_at(records: Sequence[StreamRecord], position: int) -> str:
    """Return the sequence number at *position*, or the nearest one before it.

    Raises a ValueError if there is none.
    """
    for record in reversed(records[: position + 1]):
        if sequence := sequence_of(record):
            return sequence
    msg = "the batch begins with a record without a sequence number: redeliver all of it"
    raise ValueError(msg)
