"""What some items tell of a source: how large they are, and which rows the views make of them."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from time import time
from typing import Any, Final

from adminview.model import Registry, Source
from adminview.model.errors import SettingsError
from adminview.model.item import Image, encode
from adminview.model.limits import row_size
from adminview.model.row import OWNER_INDEX, Attributes
from adminview.model.write_units import entry
from adminview.reconcile.expected_rows import expected_rows
from adminview.sync.decode import Route

# What `aws dynamodb scan` and `get-item` print around items, which may have such attributes too.
WRAPPINGS: Final = ("Items", "Item")
BESIDE: Final = frozenset({"Count", "ScannedCount", "ConsumedCapacity", "NextToken"})
KINDS: Final = frozenset({"S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"})


def items_of(given: object) -> list[Attributes]:
    """Read an item or a list of them, plain or as DynamoDB spells them."""
    for name in WRAPPINGS:
        if isinstance(given, Mapping) and name in given and given.keys() - {name} <= BESIDE:
            given = given[name]
    found: list[Any] = given if isinstance(given, list) else [given]
    if not found or not all(isinstance(one, Mapping) and one for one in found):
        msg = (
            "sample: expected an item or a list of items in JSON, plain or as "
            "`aws dynamodb scan` prints them"
        )
        raise SettingsError(msg)
    return [_attributes(one) for one in found]


def describe(source: Source, items: Sequence[Attributes], registry: Registry) -> dict[str, Any]:
    """Describe a load by the rows that the views make of *items*, or raise a RecordError."""
    route = Route(source.name, source, registry.views_of(source))
    rows = [row for item in items for row in _rows(route, item, registry)]
    each = len(items)
    indexes = {
        index.name: {"rows": members / each}
        for index in registry.indexes
        if index != OWNER_INDEX and (members := sum(bool(entry(index, row)) for row in rows))
    }
    return {
        "itemBytes": fmean(map(row_size, items)),
        "rows": len(rows) / each,
        "rowBytes": fmean(map(row_size, rows)) if rows else 0.0,
        "indexes": indexes,
    }


def _rows(route: Route, item: Image, registry: Registry) -> list[Attributes]:
    owner = route.source.owner(item)
    return [*expected_rows(route, owner, item, time(), registry.fingerprint).values()]


def _attributes(item: Mapping[str, Any]) -> Attributes:
    normalize_number = all(isinstance(one, dict) and len(one) == 1 for one in item.values())
    if normalize_number and {kind for one in item.values() for kind in one} <= KINDS:
        return dict(item)
    return {name: encode(value) for name, value in item.items()}
