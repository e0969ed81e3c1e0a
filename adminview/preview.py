"""Preview the rows of one item by view, with their index entries and contributions to totals.

For local use by the author of a view: errors keep their text, which may contain data.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from adminview.model import Registry, Source, View
from adminview.model.attribute import PK, SK
from adminview.model.errors import RecordError, RowError, ViewError
from adminview.model.item import AttributeValue, Image, encode
from adminview.model.limits import ROW_LIMIT
from adminview.model.row import DATA, OWNER_INDEX, TOTALS, Attributes
from adminview.model.total import COUNT, COUNTED, Total
from adminview.sync.derive import DerivedRows, derive


@dataclass(frozen=True, slots=True)
class ViewRows:
    """The rows that one view derives from an item."""

    view: View
    rows: tuple[Attributes, ...]


@dataclass(frozen=True, slots=True)
class ItemPreview:
    """An item's owner, and the rows of each view that applies to the item."""

    owner: str
    views: tuple[ViewRows, ...]

    @property
    def rows(self) -> list[Attributes]:
        return [row for derived in self.views for row in derived.rows]


def preview_item(model: Registry, source: Source, image: Image) -> ItemPreview:
    """Derive the rows of one item, by view; raises the RecordErrors of `derive_with_text`."""
    owner = source.owner(image)
    views = model.views_of(source)
    derive_with_text(views, image)  # all together: two views must not derive the same row
    derived = [(view, derive_with_text([view], image)) for view in views]
    return ItemPreview(
        owner,
        tuple(
            ViewRows(view, tuple(result.rows.values()))
            for view, result in derived
            if result.claimed
        ),
    )


def derive_with_text(views: Iterable[View], image: Image) -> DerivedRows:
    """Derive the rows of one item; raises RecordErrors with the texts of their causes."""
    try:
        return derive(views, image, room=ROW_LIMIT)
    except RecordError as error:
        error.args = (_text(error),)
        raise


def encode_item(item: Mapping[str, object]) -> dict[str, AttributeValue]:
    """Encode an item in plain Python; raises a RowError that names the attribute."""
    image = {}
    for name, value in item.items():
        try:
            image[name] = encode(value)
        except RowError as error:
            msg = f"attribute {name!r}: {error}"
            raise RowError(msg) from error
    return image


def index_entries(row: Attributes, model: Registry) -> dict[str, Attributes]:
    """Return the key attributes of a row in each index that it is in, by index."""
    return {
        index.name: {key.name: row[key.name] for key in index.key}
        for index in model.indexes
        if index is not OWNER_INDEX and all(key.name in row for key in index.stored_key)
    }


def contributions(row: Attributes, model: Registry) -> list[tuple[Total, Attributes]]:
    """Return what a row contributes to each group: the group's attributes, count and sums."""
    partitions: dict[str, Any] = row.get(TOTALS, {"M": {}})["M"]
    added = []
    for total in model.totals:
        prefix = total.partition_key(())
        for partition, sorts in partitions.items():
            if partition.partition("#")[0] == prefix:  # not one of an older epoch
                for sort, amounts in sorts["M"].items():
                    added.append((total, _group(total, partition, sort, amounts["M"])))
    return added


def _group(total: Total, partition: str, sort: str, amounts: Attributes) -> Attributes:
    item = {PK.name: {"S": partition}, SK.name: {"S": sort}, COUNT: COUNTED, **amounts}
    row = total.row_of(item)
    assert row  # it counts one row
    group, sums = ([part.name for part in parts] for parts in (total.group, total.sums))
    return {name: row[DATA]["M"][name] for name in (*group, COUNT, *sums)}


def _text(error: RecordError) -> str:
    """Return the text of an error, with that of its cause if a view raised it."""
    cause = error.__cause__
    if isinstance(error, ViewError) and str(cause):
        return f"{error}: {cause}"
    return str(cause) if isinstance(cause, RecordError) else str(error)
