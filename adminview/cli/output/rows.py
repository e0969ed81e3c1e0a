"""Rows of an answer as CSV, or as a table to read; as JSON they are what the API makes of them."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import Any, TypeAlias

from adminview.cli.output.printing import Console, TextTable, csv_cell, echo
from adminview.cli.output.tables import cell, table
from adminview.http_api.render import plain, text
from adminview.model.attribute import PK, SK
from adminview.model.row import DATA, Attributes

Record: TypeAlias = Mapping[str, Any]  # plain JSON, by attribute
KEY = (PK.name, SK.name)
UNBOUND = 1_000_000  # columns: wider than any row


def record(row: Attributes) -> dict[str, Any]:
    """Decode a row: its key first, the other attributes by name."""
    return {name: plain(row[name]) for name in _in_order(row)}


def to_csv(records: Sequence[Record]) -> str:
    """Write a header and a line for each record; maps become a column per attribute."""
    flat = [_flat(one) for one in records]
    columns = _in_order({name for one in flat for name in one})
    written = StringIO()
    writer = csv.writer(written)
    if columns:
        writer.writerow(map(csv_cell, columns))
    writer.writerows([csv_cell(_as_text(one.get(name))) for name in columns] for one in flat)
    return written.getvalue()


def to_table(title: str, records: Sequence[Record]) -> TextTable:
    """Show records, with a column for each attribute that any of them has."""
    made = table(title)
    columns = _in_order({name for one in records for name in one}) or list(KEY)
    for name in columns:
        made.add_column(name, overflow="fold")
    for one in records:
        made.add_row(*(cell(one.get(name)) for name in columns))
    if not records:
        made.add_row("(no rows)")
    return made


def print_table(made: TextTable, *, err: bool = False) -> None:
    """Print a table: folded to fit a terminal, and anywhere else a line for each row."""
    console = Console(stderr=err)
    if not console.is_terminal:
        console = Console(stderr=err, width=Console(width=UNBOUND).measure(made).maximum)
    console.print(made)


def note(text: str) -> None:
    """Say something beside the answer, on standard error: a pipe takes the answer alone."""
    echo(text, err=True)


def _flat(one: Record) -> dict[str, Any]:
    """Give each attribute of a map a column of its own."""
    flat: dict[str, Any] = {}
    for name, value in one.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{below}": content for below, content in value.items()}
        else:
            flat[name] = value
    return flat


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else text(value)


def _in_order(names: Iterable[str]) -> list[str]:
    """Put a row's key first, then its other attributes by name, then those of maps: its data first.

    A map's attribute has its map before a point.
    """
    return sorted(
        names,
        key=lambda name: (name not in KEY, "." in name, not name.startswith(f"{DATA}."), name),
    )
