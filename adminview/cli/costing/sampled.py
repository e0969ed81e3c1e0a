"""Describe the workload of a source by sample items and the rows that its views derive."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from time import time
from typing import Any, Final

from adminview.model import Registry, Source, Total
from adminview.model.errors import SettingsError
from adminview.model.item import Image, encode
from adminview.model.limits import row_size
from adminview.model.row import OWNER_INDEX, Attributes
from adminview.model.write_units import entry
from adminview.reconcile.expected_rows import expected_rows
from adminview.sync.decode import Route
from adminview.totals.changes import Group, contributions

# Keys that `aws dynamodb scan` and `get-item` print around items; items may have them too.
WRAPPINGS: Final = ("Items", "Item")
BESIDE: Final = frozenset({"Count", "ScannedCount", "ConsumedCapacity", "NextToken"})
KINDS: Final = frozenset({"S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"})


def parse_items(sample: object) -> list[Attributes]:
    """Read one item or a list, as plain JSON or DynamoDB JSON; raise SettingsError if neither."""
    for name in WRAPPINGS:
        if isinstance(sample, Mapping) and name in sample and sample.keys() - {name} <= BESIDE:
            sample = sample[name]
    items: list[Any] = sample if isinstance(sample, list) else [sample]
    if not items or not all(isinstance(item, Mapping) and item for item in items):
        msg = (
            "sample: expected an item or a list of items in JSON, plain or as "
            "`aws dynamodb scan` prints them"
        )
        raise SettingsError(msg)
    return [_attributes(item) for item in items]


def describe(source: Source, items: Sequence[Attributes], registry: Registry) -> dict[str, Any]:
    """Return a load with the sizes and rows of *items*; raise the RecordError of a view."""
    route = Route(source.name, source, registry.views_of(source))
    rows = [row for item in items for row in _rows(route, item, registry)]
    count = len(items)
    indexes = {
        index.name: {"rows": members / count}
        for index in registry.indexes
        if index != OWNER_INDEX and (members := sum(bool(entry(index, row)) for row in rows))
    }
    totals = {
        total.name: {"updates": members / count}
        for total in registry.totals
        if (members := sum(len(_groups_of(total, row)) for row in rows))
    }
    return {
        "itemBytes": fmean(map(row_size, items)),
        "rows": len(rows) / count,
        "rowBytes": fmean(map(row_size, rows)) if rows else 0.0,
        "indexes": indexes,
        **({"totals": totals} if totals else {}),
    }


def _groups_of(total: Total, row: Attributes) -> list[Group]:
    """Return the groups of a total that a row contributes to, of all epochs that are kept."""
    return [group for group in contributions(row)[0] if total.has(group[0])]


def _rows(route: Route, item: Image, registry: Registry) -> list[Attributes]:
    owner = route.source.owner(item)
    return [*expected_rows(route, owner, item, time(), registry.fingerprint).values()]


def _attributes(item: Mapping[str, Any]) -> Attributes:
    tagged = all(isinstance(value, dict) and len(value) == 1 for value in item.values())
    if tagged and {kind for value in item.values() for kind in value} <= KINDS:
        return dict(item)
    return {name: encode(value) for name, value in item.items()}
