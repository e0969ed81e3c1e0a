"""The preview of an item, as text and as JSON."""

from collections.abc import Iterator
from typing import Any

from adminview.cli.output.data_order import DataOrder
from adminview.cli.output.grid import KEY, Grid
from adminview.cli.output.printing import Console, TextTable
from adminview.cli.output.rows import print_rows, record
from adminview.cli.output.tables import cell
from adminview.http_api.render import plain
from adminview.model import Registry, Source, View
from adminview.model.attribute import PK, SK
from adminview.model.places import place_of_declaration
from adminview.model.row import DATA, Attributes
from adminview.preview import ItemPreview, contributions, index_entries


def as_data(item: ItemPreview, model: Registry) -> dict[str, Any]:
    return {
        "item": item.owner,
        "views": [
            {
                "view": derived.view.name,
                "declaredAt": declared_at(derived.view, model),
                "rows": [_row(row, model) for row in derived.rows],
            }
            for derived in item.views
        ],
    }


def declared_at(view: View, model: Registry) -> str:
    return place_of_declaration(view, model.modules) or view.module


def show(item: ItemPreview, source: Source, model: Registry, console: Console) -> None:
    """Print the views that apply, and the rows, index entries and totals of the item."""
    console.print(item.owner, style="bold")
    for derived in item.views:
        count = len(derived.rows)
        console.print(
            f"view {derived.view.name}: {count} {'row' if count == 1 else 'rows'}"
            f" ({declared_at(derived.view, model)})",
            soft_wrap=True,
        )
    if not item.views:
        names = ", ".join(view.name for view in model.views_of(source))
        console.print(f"No view applies to this item, so it has no rows. Views: {names}")
    if item.rows:
        grid = Grid.of([record(_shown(row)) for row in item.rows], DataOrder.of(model).columns)
        print_rows("Rows", grid, console, otherwise=", or use --json")
    for table in _tables(item, model):
        console.print(table)


def _shown(row: Attributes) -> Attributes:
    return {name: row[name] for name in (*KEY, DATA)}


def _tables(item: ItemPreview, model: Registry) -> Iterator[TextTable]:
    entries = TextTable("Index entries")
    totals = TextTable("Contributions to totals")
    for table, columns in (
        (entries, ("index", "key", "row")),
        (totals, ("total", "adds", "row")),
    ):
        for column in columns:
            table.add_column(column, overflow="fold")
    for row in item.rows:
        pk, sk = row[PK.name]["S"], row[SK.name]["S"]
        for name, key in index_entries(row, model).items():
            entries.add_row(name, cell(_plain(key)), f"{pk}  {sk}")
        for total, added in contributions(row, model):
            totals.add_row(total.name, cell(_plain(added)), f"{pk}  {sk}")
    yield from (table for table in (entries, totals) if table.rows)


def _row(row: Attributes, model: Registry) -> dict[str, Any]:
    return {
        PK.name: row[PK.name]["S"],
        SK.name: row[SK.name]["S"],
        DATA: plain(row[DATA]),
        "indexes": {name: _plain(key) for name, key in index_entries(row, model).items()},
        "totals": [
            {"total": total.name, **_plain(added)} for total, added in contributions(row, model)
        ],
    }


def _plain(attributes: Attributes) -> dict[str, Any]:
    return {name: plain(value) for name, value in attributes.items()}
