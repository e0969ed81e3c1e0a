"""Dead letters: what is kept of a record that was set aside. Keys and the error, never the data.

A letter is plain ASCII: SQS refuses some characters, and a key may hold any.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from typing import Any

from lambdas.model.errors import AdminViewError, UnreadableRecordError, kind_of
from lambdas.model.row import RowKey
from lambdas.pipeline.decode import Change, StreamRecord, sequence_of, table_of

KIND = "adminview.letter/1"
BODY_LIMIT = 200 * 1024  # bytes of row keys per letter: SQS took 256 KiB for a message for years


@dataclass(frozen=True, slots=True)
class Letter:
    """One message for the dead-letter queue, about the record at *position* of its batch."""

    position: int
    source: str | None
    sequence: str | None
    error: str
    reason: str
    body: str


def letters(
    position: int, identity: Mapping[str, Any], error: AdminViewError, rows: Sequence[RowKey]
) -> Iterator[Letter]:
    """Write down why a record was set aside, and the rows that a repair must look at.

    Row keys too many for one message make several letters: each repairs what it names.
    """
    reason = reason_of(error)
    facts = {
        "kind": KIND,
        **identity,
        "error": {"kind": kind_of(error), "reason": reason},
    }
    for share in _shares(rows):
        yield Letter(
            position=position,
            source=identity["source"],
            sequence=identity["sequence"],
            error=kind_of(error),
            reason=reason,
            body=dumps(facts | {"rows": share}),
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


def _shares(rows: Sequence[RowKey]) -> Iterator[list[RowKey]]:
    """Cut row keys into shares that each fit a message; no rows are one empty share."""
    share: list[RowKey] = []
    size = 0
    for row in rows:
        row_size = len(dumps(row)) + 2
        if share and size + row_size > BODY_LIMIT:
            yield share
            share, size = [], 0
        share.append(row)
        size += row_size
    yield share
