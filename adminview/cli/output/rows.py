"""Rows as a table or as CSV. As JSON they have the format of the API."""

import csv
from collections.abc import Sequence
from io import StringIO
from typing import Any, Final

from adminview.cli.output.grid import KEY, Grid
from adminview.cli.output.printing import (
    Console,
    TextTable,
    csv_cell,
    echo,
    joined,
    raw_csv_cell,
    styled,
)
from adminview.cli.output.tables import cell, is_number, number_text
from adminview.http_api.render import plain, text
from adminview.model.row import Attributes

NO_ROWS = "(no rows)"
NAMED = 8  # columns that a note names


EDGES, GAP = 2, 3  # spaces around a table, and between two columns
NARROW: Final = 10  # a column with more than this is shortened to this, or to its header
NARROWEST: Final = 4  # for columns that somebody named


def record(row: Attributes) -> dict[str, Any]:
    """Decode a row into plain JSON, its key first, other attributes by name."""
    names = sorted(row, key=lambda name: (name not in KEY, name))
    return {name: plain(row[name]) for name in names}


def to_csv(grid: Grid, *, raw: bool = False) -> str:
    """Return a header and a line per row. *raw* values are exact, even if they are formulas."""
    written = raw_csv_cell if raw else csv_cell
    buffer = StringIO()
    writer = csv.writer(buffer)
    if grid.columns:
        writer.writerow(map(written, grid.headers if grid.requested else grid.columns))
    writer.writerows([written(_as_text(value)) for value in values] for values in grid.values())
    return buffer.getvalue()


def print_rows(
    title: str, grid: Grid, console: Console | None = None, *, otherwise: str = ""
) -> None:
    """Print a table of rows.

    At a terminal the table has its width: long values are shortened, and a note names the columns
    that do not fit, and what to do *otherwise* than to widen the terminal. Elsewhere each row is
    one line with all its values.
    """
    console = console or Console()
    if title:
        for line in title.splitlines():
            console.print(styled(line, "bold"), soft_wrap=True)
    lines, left_out = to_table(grid, console.width if console.at_terminal else None)
    console.print(lines)
    if left_out:
        names = ", ".join(left_out[:NAMED])
        more = f" and {len(left_out) - NAMED} more columns" if len(left_out) > NAMED else ""
        note(f"no room for {names}{more}: widen the terminal{otherwise}")


def to_table(grid: Grid, width: int | None = None) -> tuple[TextTable, list[str]]:
    """Return a table no wider than *width*, and the headers of columns that do not fit."""
    columns, headers = ([*grid.columns], grid.headers) if grid.columns else ([*KEY], [*KEY])
    values = [*grid.values()]
    cells = [[joined("", [cell(value)]) for value in row] for row in values]
    natural = [
        max(styled(header).cell_len, *(row[at].cell_len for row in cells), 0)
        for at, header in enumerate(headers)
    ]
    shown = _widths(grid, columns, headers, natural, width) if width else natural
    lines = TextTable("")
    for at, column_width in enumerate(shown):
        lines.add_column(
            headers[at],
            no_wrap=columns[at] not in KEY,
            overflow="fold" if columns[at] in KEY else "ellipsis",
            width=column_width if cells else None,
            justify="right" if _is_numeric([row[at] for row in values]) else "left",
        )
    for row in cells or [[styled(NO_ROWS)]]:
        lines.add_row(*row[: len(shown)])
    return lines, headers[len(shown) :]


def note(text: str) -> None:
    """Print a note on standard error, so that pipes receive only the rows."""
    echo(text, err=True)


def _widths(
    grid: Grid, columns: Sequence[str], headers: Sequence[str], natural: list[int], width: int
) -> list[int]:
    header_widths = [styled(header).cell_len for header in headers]
    return fit(columns, header_widths, natural, width, all_columns=grid.requested)


def _is_numeric(values: Sequence[Any]) -> bool:
    present = [value for value in values if value is not None]
    return bool(present) and all(map(is_number, present))


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return number_text(value)
    return value if isinstance(value, str) else text(value)


def fit(
    columns: Sequence[str],
    headers: Sequence[int],
    natural: Sequence[int],
    width: int,
    *,
    all_columns: bool,
) -> list[int]:
    """Return the widths of the leading columns that fit, of which there is at least one.

    *headers* and *natural* are the widths of headers and of whole columns. Keys keep their width,
    unless they alone are too wide. Other columns get what they need or an equal share of the rest.
    With *all_columns*, no column is left out; each becomes as narrow as it must.
    """
    keys = [name in KEY for name in columns]
    floors = [
        whole if key else min(whole, NARROWEST if all_columns else max(header, NARROW))
        for key, header, whole in zip(keys, headers, natural, strict=True)
    ]
    count = len(columns)
    if not all_columns:
        first = max(1, sum(keys))
        while count > first and _total(floors[:count]) > width:
            count -= 1
    room = width - _total([0] * count)
    if sum(floors[:count]) > room:  # the keys alone are too wide
        floors = [min(floor, NARROWEST) for floor in floors]
    return _share(floors[:count], natural[:count], room)


def _share(floors: Sequence[int], natural: Sequence[int], room: int) -> list[int]:
    """Widen columns from their floors until all are whole, or the room is used."""
    widths, spare = [*floors], max(0, room - sum(floors))
    needs = sorted(range(len(floors)), key=lambda at: natural[at] - floors[at])
    for done, at in enumerate(needs):
        more = min(natural[at] - floors[at], spare // (len(needs) - done))
        widths[at] += more
        spare -= more
    return widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + EDGES + GAP * (len(widths) - 1)
