"""Compute the write units that DynamoDB would charge for calls, on rows in memory."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from adminview.model.row import Attributes, RowKey, key_of, provenance
from adminview.model.write_units import Units, write_units
from bench.contenders.rows import derive_raw_rows
from bench.model import orders, registry
from bench.streams import Load

Table: TypeAlias = dict[RowKey, Attributes]
Body: TypeAlias = dict[str, Any]
DeriveRows: TypeAlias = Callable[[Any], Iterable[Attributes]]


def table_before(
    load: Load, *, with_provenance: bool, derive_rows: DeriveRows = derive_raw_rows
) -> Table:
    """Return the view before the stream: the rows of all orders that exist by then.

    Only AdminView's rows have their provenance attributes.
    """
    rows: Table = {}
    seen: set[str] = set()
    for event in load.batches():
        for record in event["Records"]:
            change = record["dynamodb"]
            owner = orders.owner(change["Keys"])
            if "OldImage" in change and owner not in seen:
                attributes = provenance(owner, "0" * 12, 0, "0" * 16) if with_provenance else {}
                for row in derive_rows(change["OldImage"]):
                    rows[key_of(row)] = {**row, **attributes}
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
    """Yield the row of each write, or None for a delete, and its key."""
    for body in bodies:
        calls = body.get("RequestItems") or {"": [{"": body}]}
        for request in (request for requests in calls.values() for request in requests):
            (write,) = request.values()
            row = write.get("Item")
            yield row, key_of(row or write["Key"])
