"""Dead letters about the failed records and calls of a batch."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from json import dumps
from typing import Any

from adminview.model.dead_letter import (
    BODY_LIMIT,
    BY_OWNER,
    ITEMS_LIMIT,
    ErrorSummary,
    InDoubtLetter,
    ItemOrigin,
    Origin,
    OutgoingLetter,
    RecordLetter,
    TouchedItem,
)
from adminview.model.delivery import IN_DOUBT_SECONDS, NEXT_TRY_SECONDS
from adminview.model.errors import (
    AdminViewError,
    TooManyRowsError,
    UnansweredCallError,
    UnreadableRecordError,
)
from adminview.model.row import RowKey
from adminview.sync.decode import Change, StreamRecord, sequence_of, table_of


def dead_letter(
    position: int, origin: ItemOrigin, error: AdminViewError, rows: Iterable[RowKey]
) -> OutgoingLetter:
    """Return the dead letter of a record, with the *rows* that a replay must check.

    If the row keys do not fit one message, or a view yielded too many rows, it names none. It is
    then delayed until the owner index can list them.
    """
    keys = frozenset(rows)
    by_owner = isinstance(error, TooManyRowsError) or not _fit(keys)
    letter = RecordLetter(
        **_values(origin),
        error=ErrorSummary.of(error),
        rows=frozenset() if by_owner else keys,
        find_rows=BY_OWNER if by_owner else None,
    )
    return OutgoingLetter.of(letter, position, NEXT_TRY_SECONDS if by_owner else None)


def in_doubt_letters(
    position: int, origin: Origin, items: Iterable[TouchedItem]
) -> Iterator[OutgoingLetter]:
    """Yield dead letters about calls without a response, delayed until none can still arrive."""
    batch: list[TouchedItem] = []
    size = 0
    for item in items:
        touched = item if _fit(item.rows) else replace(item, rows=frozenset())
        item_size = len(dumps([touched.key, touched.owner, *touched.rows]))
        if batch and (len(batch) == ITEMS_LIMIT or size + item_size > BODY_LIMIT):
            yield _in_doubt(position, origin, batch)
            batch, size = [], 0
        batch.append(touched)
        size += item_size
    if batch:
        yield _in_doubt(position, origin, batch)


def _in_doubt(position: int, origin: Origin, items: Sequence[TouchedItem]) -> OutgoingLetter:
    error = ErrorSummary.of(UnansweredCallError())
    letter = InDoubtLetter(**_values(origin), error=error, items=tuple(items))
    return OutgoingLetter.of(letter, position, IN_DOUBT_SECONDS)


def identify(record: StreamRecord, change: Change | None, model: str) -> ItemOrigin:
    """Return the origin of a record; *change* is None if the record is unreadable."""
    if change is None:
        return _identify_unreadable(record, model)
    return ItemOrigin(
        source=change.route.source.name,
        table=table_of(record),
        key=change.key,
        owner=change.owner,
        event=record["eventName"],
        sequence=change.sequence,
        at=change.at,
        stream=record["eventSourceARN"],
        model=model,
    )


def _identify_unreadable(record: StreamRecord, model: str) -> ItemOrigin:
    try:
        table = table_of(record)
    except UnreadableRecordError:
        table = None
    known = record if isinstance(record, Mapping) else {}
    change = known.get("dynamodb")
    return ItemOrigin.salvaged(
        table=table,
        key=change.get("Keys") if isinstance(change, Mapping) else None,
        event=known.get("eventName"),
        sequence=sequence_of(record),
        stream=known.get("eventSourceARN"),
        model=model,
    )


def _values(origin: Origin) -> dict[str, Any]:
    return {field.name: getattr(origin, field.name) for field in fields(origin)}


def _fit(rows: Iterable[RowKey]) -> bool:
    """Return whether the keys of *rows* fit one message."""
    size = 0
    for row in rows:
        size += len(dumps(row)) + 2
        if size > BODY_LIMIT:
            return False
    return True
