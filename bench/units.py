"""The write units that DynamoDB would charge for calls, computed on rows in memory."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from adminview.model.row import Attributes, RowKey, key_of, provenance
from adminview.model.write_units import Units, write_units
from bench.model import orders, registry
from bench.streams import Load
from bench.ways.rows import wire_rows_of

Table: TypeAlias = dict[RowKey, Attributes]
Body: TypeAlias = dict[str, Any]
RowsOf: TypeAlias = Callable[[Any], Iterable[Attributes]]


def table_before(load: Load, *, stamped: bool, rows_of: RowsOf = wire_rows_of) -> Table:
    """Return the view before the stream: the rows of all orders that exist by then.

    Only AdminView's rows are *stamped* with their provenance.
    """
    rows: Table = {}
    seen: set[str] = set()
    for event in load.batches():
        for record in event["Records"]:
            change = record["dynamodb"]
            owner = orders.owner(change["Keys"])
            if "OldImage" in change and owner not in seen:
                stamp = provenance(owner, "0" * 12, 0, "0" * 16) if stamped else {}
                for row in rows_of(change["OldImage"]):
                    rows[key_of(row)] = {**row, **stamp}
            seen.add(owner)
    return rows


def replay(bodies: Iterable[Body], table: Table) -> Units:
    """Apply calls to *table*, and return the write units that they consume."""
    indexes = registry().indexes
    total = Units()
    for row, key in _writes(bodies):
        total += write_units(table.get(key), row, indexes)
        if row is None:
            table.pop(key, None)
        else:
            table[key] = row
    return total


def _writes(bodies: Iterable[Body]) -> Iterator[tuple[Attributes | None, RowKey]]:
    """Yield each row, or None for a delete, and its key, of any kind of write call."""
    for body in bodies:
        calls = body.get("RequestItems") or {"": [{"": body}]}
        for request in (request for requests in calls.values() for request in requests):
            (write,) = request.values()
            row = write.get("Item")
            yield row, key_of(row or write["Key"])
