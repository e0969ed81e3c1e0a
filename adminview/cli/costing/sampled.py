"""Describe the workload of a source by sample items and the rows that its views derive."""

from collections.abc import Sequence
from statistics import fmean
from time import time
from typing import Any

from adminview.model import Registry, Source, Total
from adminview.model.item import Image
from adminview.model.limits import row_size
from adminview.model.row import OWNER_INDEX, Attributes
from adminview.model.write_units import entry
from adminview.reconcile.expected_rows import expected_rows
from adminview.sync.decode import Route
from adminview.totals.changes import Group, contributions


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
