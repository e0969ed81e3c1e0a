"""Rows as CSV or as a table. As JSON they have the format of the API."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import Any, TypeAlias

from adminview.cli.output.printing import Console, TextTable, csv_cell, echo
from adminview.cli.output.tables import cell
from adminview.http_api.render import plain, text
from adminview.model.attribute import PK, SK
from adminview.model.row import DATA, Attributes

Record: TypeAlias = Mapping[str, Any]  # plain JSON, by attribute
KEY = (PK.name, SK.name)
UNBOUND = 1_000_000  # characters: wider than any row


def record(row: Attributes) -> dict[str, Any]:
    """Decode a row into plain JSON, its key first, other attributes by name."""
    return {name: plain(row[name]) for name in _in_order(row)}


def to_csv(records: Sequence[Record]) -> str:
    """Return a header and a line per record, with a column per attribute of a map."""
    flat = [_flat(record) for record in records]
    columns = _in_order({name for record in flat for name in record})
    buffer = StringIO()
    writer = csv.writer(buffer)
    if columns:
        writer.writerow(map(csv_cell, columns))
    writer.writerows([csv_cell(_as_text(record.get(name))) for name in columns] for record in flat)
    return buffer.getvalue()


def to_table(title: str, records: Sequence[Record]) -> TextTable:
    """Return a table with a column for each attribute of any record."""
    lines = TextTable(title)
    columns = _in_order({name for record in records for name in record}) or list(KEY)
    for name in columns:
        lines.add_column(name, overflow="fold")
    for record in records:
        lines.add_row(*(cell(record.get(name)) for name in columns))
    if not records:
        lines.add_row("(no rows)")
    return lines


def print_table(lines: TextTable, *, err: bool = False) -> None:
    """Print a table, folded to fit a terminal; elsewhere, each row is one line."""
    console = Console(stderr=err)
    if not console.is_terminal:
        console = Console(stderr=err, width=Console(width=UNBOUND).measure(lines).maximum)
    console.print(lines)


def note(text: str) -> None:
    """Print a note on standard error, so that pipes receive only the rows."""
    echo(text, err=True)


def _flat(record: Record) -> dict[str, Any]:
    """Replace each map with a column per attribute, named map.attribute."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{inner}": content for inner, content in value.items()}
        else:
            flat[name] = value
    return flat


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else text(value)


def _in_order(names: Iterable[str]) -> list[str]:
    """Sort columns: the key, other attributes, attributes of data, attributes of other maps."""
    return sorted(
        names,
        key=lambda name: (name not in KEY, "." in name, not name.startswith(f"{DATA}."), name),
    )
