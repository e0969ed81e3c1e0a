"""Rows, letters and counts, as people read them."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from adminview.cli.output.printing import Cell, TextTable, joined, styled
from adminview.model import Item
from adminview.model.attribute import PK, SK
from adminview.model.errors import RowError
from adminview.model.item import check_range, decode
from adminview.model.row import DATA, Attributes

PALE = "dim"


def plain(value: Any) -> Any:
    """Unfold a decoded value into plain Python."""
    if isinstance(value, Item):
        return {name: plain(value[name]) for name in sorted(value)}
    if isinstance(value, set):
        return sorted(map(plain, value))
    if isinstance(value, list):
        return [plain(element) for element in value]
    return _number(value) if isinstance(value, Decimal) else value


def _number(value: Decimal) -> int | Decimal:
    """Show a whole number as one, unless only an exponent keeps it short."""
    try:
        check_range(value)
    except RowError:  # a local engine may keep it
        return value
    return int(value) if value == int(value) else value


def cell(value: Any) -> Cell:
    """Write a value in one line: names pale, values plain."""
    if isinstance(value, Mapping):
        pairs = [joined(" ", [styled(f"{name}:", PALE), cell(one)]) for name, one in value.items()]
        return joined("  ", pairs)
    if isinstance(value, list | tuple):
        return joined(", ", map(_element, value))
    return "" if value is None else str(value)


def _element(value: Any) -> Cell:
    return joined("", ["(", cell(value), ")"]) if isinstance(value, Mapping) else cell(value)


def answer(title: str, rows: Iterable[Attributes]) -> TextTable:
    """Show the rows that answer a question."""
    shown = table(title)
    shown.add_column("PK", overflow="fold")
    shown.add_column("SK", overflow="fold")
    shown.add_column("data", overflow="fold")
    for row in rows:
        data = plain(decode(row[DATA])) if DATA in row else {}
        shown.add_row(row[PK.name]["S"], row[SK.name]["S"], cell(data))
    if not shown.rows:
        shown.add_row("(no rows)", "", "")
    return shown


def facts(title: str, rows: Mapping[str, Any]) -> TextTable:
    """Show names and values."""
    shown = table(title, show_header=False)
    shown.add_column(style=PALE)
    shown.add_column(overflow="fold")
    for name, value in rows.items():
        shown.add_row(name, cell(value))
    return shown


def table(title: str, **more: Any) -> TextTable:
    """Begin a table in the house's style, wide enough for its title."""
    return TextTable(title, **more)
