"""Dead letters about what fails in a batch: which record or call, and the rows to check."""

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
    """Write down why a record was dead-lettered, and the rows that a replay must check.

    If the row keys do not fit one message, or a view made too many, the letter names none and waits
    until the owner index can list the rows.
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
    """Write letters about calls without a response, to be replayed when none can still arrive."""
    some: list[TouchedItem] = []
    size = 0
    for item in items:
        touched = item if _fit(item.rows) else replace(item, rows=frozenset())
        item_size = len(dumps([touched.key, touched.owner, *touched.rows]))
        if some and (len(some) == ITEMS_LIMIT or size + item_size > BODY_LIMIT):
            yield _in_doubt(position, origin, some)
            some, size = [], 0
        some.append(touched)
        size += item_size
    if some:
        yield _in_doubt(position, origin, some)


def _in_doubt(position: int, origin: Origin, items: Sequence[TouchedItem]) -> OutgoingLetter:
    error = ErrorSummary.of(UnansweredCallError())
    letter = InDoubtLetter(**_values(origin), error=error, items=tuple(items))
    return OutgoingLetter.of(letter, position, IN_DOUBT_SECONDS)


def identify(record: StreamRecord, change: Change | None, model: str) -> ItemOrigin:
    """Say which record of which stream this is, and which model could not take it."""
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
    return {one.name: getattr(origin, one.name) for one in fields(origin)}


def _fit(rows: Iterable[RowKey]) -> bool:
    """Tell whether the keys of *rows* fit one message."""
    size = 0
    for row in rows:
        size += len(dumps(row)) + 2
        if size > BODY_LIMIT:
            return False
    return True
