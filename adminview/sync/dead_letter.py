"""Dead letters: what is kept of a record that was set aside. Keys and the error, never the data.

A letter is plain ASCII: SQS refuses some characters, and a key may hold any.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from typing import Any

from adminview.model.delivery import IN_DOUBT_SECONDS, NEXT_TRY_SECONDS
from adminview.model.errors import (
    AdminViewError,
    TooManyRowsError,
    UnansweredCallError,
    UnreadableRecordError,
    kind_of,
)
from adminview.model.row import RowKey
from adminview.sync.decode import Change, StreamRecord, sequence_of, table_of

KIND = "adminview.letter/1"
IN_DOUBT = "adminview.in-doubt/1"
BODY_LIMIT = 200 * 1024  # bytes of row keys per letter: SQS took 256 KiB for a message for years
ITEMS_LIMIT = 25  # items per in-doubt letter: as many as a call can have rows


@dataclass(frozen=True, slots=True)
class Letter:
    """One message for the dead-letter queue, about the record at *position* of its batch."""

    position: int
    source: str | None
    sequence: str | None
    error: str
    reason: str
    body: str
    delay_seconds: int | None = None  # None: as long as the queue delays every message


@dataclass(frozen=True, slots=True)
class TouchedItem:
    """A source item, and the keys of rows that a call in doubt may write or delete."""

    key: Mapping[str, Any]
    owner: str
    rows: Sequence[RowKey]


def dead_letter(
    position: int, identity: Mapping[str, Any], error: AdminViewError, rows: Sequence[RowKey]
) -> Letter:
    """Write down why a record was set aside, and the rows that a replay must check.

    If the row keys do not fit one message, or a view made too many, the letter names none and waits
    until the owner index can list the rows.
    """
    keys = None if isinstance(error, TooManyRowsError) else _fitting(rows)
    return _letter(
        position,
        {"kind": KIND, **identity},
        error,
        {"rows": keys} if keys is not None else {"rows": [], "find_rows": "by owner"},
        None if keys is not None else NEXT_TRY_SECONDS,
    )


def in_doubt_letters(
    position: int, identity: Mapping[str, Any], items: Iterable[TouchedItem]
) -> Iterator[Letter]:
    """Write letters about calls that ended without a response, to be replayed when none can arrive.

    *identity* names the source, the table, the model and the time.
    """
    entries: list[dict[str, Any]] = []
    size = 0
    for item in items:
        entry = {"key": item.key, "owner": item.owner, "rows": _fitting(item.rows) or []}
        entry_size = len(dumps(entry))
        if entries and (len(entries) == ITEMS_LIMIT or size + entry_size > BODY_LIMIT):
            yield _in_doubt(position, identity, entries)
            entries, size = [], 0
        entries.append(entry)
        size += entry_size
    if entries:
        yield _in_doubt(position, identity, entries)


def _in_doubt(
    position: int, identity: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]
) -> Letter:
    facts = {"kind": IN_DOUBT, "sequence": None, **identity}
    return _letter(position, facts, UnansweredCallError(), {"items": entries}, IN_DOUBT_SECONDS)


def _letter(
    position: int,
    facts: Mapping[str, Any],
    error: AdminViewError,
    about: Mapping[str, Any],
    delay_seconds: int | None,
) -> Letter:
    kind, reason = kind_of(error), reason_of(error)
    return Letter(
        position=position,
        source=facts["source"],
        sequence=facts["sequence"],
        error=kind,
        reason=reason,
        body=dumps({**facts, "error": {"kind": kind, "reason": reason}, **about}),
        delay_seconds=delay_seconds,
    )


def reason_of(error: AdminViewError) -> str:
    """Say what is wrong, and where."""
    return "; ".join(filter(None, [str(error), error.place]))


def identify(record: StreamRecord, change: Change | None, model: str) -> Mapping[str, Any]:
    """Say which record of which stream this is, and which model could not take it."""
    if change is None:
        return _identity_of_unreadable(record) | {"model": model}
    return {
        "source": change.route.source.name,
        "table": table_of(record),
        "key": change.key,
        "owner": change.owner,
        "event": record["eventName"],
        "sequence": change.sequence,
        "at": change.at,
        "stream": record["eventSourceARN"],
        "model": model,
    }


def _identity_of_unreadable(record: StreamRecord) -> dict[str, Any]:
    """Keep what can be kept of a record that cannot be read."""
    try:
        table = table_of(record)
    except UnreadableRecordError:
        table = None
    known = record if isinstance(record, Mapping) else {}
    change = known.get("dynamodb")
    return {
        "source": None,
        "table": table,
        "key": change.get("Keys") if isinstance(change, Mapping) else None,
        "owner": None,
        "event": known.get("eventName"),
        "sequence": sequence_of(record),
        "at": None,
        "stream": known.get("eventSourceARN"),
    }


def _fitting(rows: Sequence[RowKey]) -> Sequence[RowKey] | None:
    """Return *rows* if they fit one message."""
    size = 0
    for row in rows:
        size += len(dumps(row)) + 2
        if size > BODY_LIMIT:
            return None
    return rows
