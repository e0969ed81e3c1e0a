"""The rows that an item should have, by the views that are deployed."""

from lambdas.model.item import Image
from lambdas.model.row import RECONCILED, Attributes, RowKey, provenance
from lambdas.model.size import ROW_LIMIT, row_size
from lambdas.pipeline.decode import Route
from lambdas.pipeline.derive import derive


def wanted(
    route: Route, owner: str, item: Image | None, at: float, model: str
) -> dict[RowKey, Attributes]:
    """Derive an item's rows, stamped as written from the item itself, or raise a RecordError."""
    stamp = provenance(owner, RECONCILED, at, model)
    derived = derive(route.views, item, room=ROW_LIMIT - row_size(stamp)).rows
    return {key: {**row, **stamp} for key, row in derived.items()}
