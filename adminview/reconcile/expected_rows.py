"""The rows that an item should have, by the views that are deployed."""

from adminview.model.item import Image
from adminview.model.limits import ROW_LIMIT, row_size
from adminview.model.row import RECONCILED, Attributes, RowKey, provenance
from adminview.sync.decode import Route
from adminview.sync.derive import derive


def expected_rows(
    route: Route, owner: str, item: Image | None, at: float, model: str
) -> dict[RowKey, Attributes]:
    """Derive an item's rows, stamped as written from the item itself, or raise a RecordError."""
    stamp = provenance(owner, RECONCILED, at, model)
    derived = derive(route.views, item, room=ROW_LIMIT - row_size(stamp)).rows
    return {key: {**row, **stamp} for key, row in derived.items()}
