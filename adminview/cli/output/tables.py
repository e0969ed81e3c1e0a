"""Tables of rows, facts and access patterns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from adminview.cli.output.printing import Cell, TextTable, joined, styled
from adminview.model import AccessPattern, Item, Registry, Total
from adminview.model.attribute import PK, SK
from adminview.model.errors import RowError
from adminview.model.item import check_range, decode
from adminview.model.row import DATA, Attributes
from adminview.model.total import AVERAGE, COUNT

PALE = "dim"
PATTERN_COLUMNS = ("access pattern", "parameters", "returns", "index")


def plain(value: Any) -> Any:
    """Convert a decoded value to plain dicts, lists, strings and numbers."""
    if isinstance(value, Item):
        return {name: plain(value[name]) for name in sorted(value)}
    if isinstance(value, set):
        return sorted(map(plain, value))
    if isinstance(value, list):
        return [plain(element) for element in value]
    return _number(value) if isinstance(value, Decimal) else value


def _number(value: Decimal) -> int | Decimal:
    """Convert a whole number to int, unless it is too large to print without an exponent."""
    try:
        check_range(value)
    except RowError:  # a local engine may store it
        return value
    return int(value) if value == int(value) else value


def cell(value: Any) -> Cell:
    """Format a value in one line, with pale names."""
    if isinstance(value, Mapping):
        pairs = [
            joined(" ", [styled(f"{name}:", PALE), cell(inner)]) for name, inner in value.items()
        ]
        return joined("  ", pairs)
    if isinstance(value, list | tuple):
        return joined(", ", map(_element, value))
    return "" if value is None else str(value)


def _element(value: Any) -> Cell:
    return joined("", ["(", cell(value), ")"]) if isinstance(value, Mapping) else cell(value)


def rows_table(title: str, rows: Iterable[Attributes]) -> TextTable:
    lines = TextTable(title)
    for column in ("PK", "SK", "data"):
        lines.add_column(column, overflow="fold")
    for row in rows:
        data = plain(decode(row[DATA])) if DATA in row else {}
        lines.add_row(row[PK.name]["S"], row[SK.name]["S"], cell(data))
    if not lines.rows:
        lines.add_row("(no rows)", "", "")
    return lines


def totals_table(
    title: str, total: Total, records: Iterable[Mapping[str, Any]], joins: Sequence[str] = ()
) -> TextTable:
    """Return a table of totals: group, count, sums, averages, and the data of joined rows."""
    lines = TextTable(title)
    names = [attribute.name for attribute in total.group] + [COUNT]
    for sum_ in total.sums:
        names += [sum_.name, AVERAGE + sum_.name]
    for name in (*names, *joins):
        lines.add_column(name, overflow="fold")
    for record in records:
        data = record[DATA]
        lines.add_row(*(cell(data[name]) for name in names), *(cell(record[n]) for n in joins))
    if not lines.rows:
        lines.add_row("(no rows)")
    return lines


def facts(title: str, values: Mapping[str, Any]) -> TextTable:
    """Return a table of names and values, without a header."""
    lines = TextTable(title, show_header=False)
    lines.add_column(style=PALE)
    lines.add_column(overflow="fold")
    for name, value in values.items():
        lines.add_row(name, cell(value))
    return lines


def patterns_table(registry: Registry) -> TextTable:
    lines = TextTable("Access patterns")
    for column in PATTERN_COLUMNS:
        lines.add_column(column, overflow="fold", no_wrap=column == PATTERN_COLUMNS[0])
    for row in _pattern_rows(registry):
        lines.add_row(*row)
    return lines


def patterns_markdown(registry: Registry) -> str:
    """Return the access patterns as the table of docs/patterns.md."""
    lines = [PATTERN_COLUMNS, ("---",) * len(PATTERN_COLUMNS)]
    lines += [(f"`{name}`", *rest) for name, *rest in _pattern_rows(registry)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _pattern_rows(registry: Registry) -> Iterator[tuple[str, str, str, str]]:
    for pattern in sorted(registry.patterns, key=lambda pattern: pattern.name):
        names = [f"[{name}]" if name in pattern.optional else name for name in pattern.parameters]
        yield pattern.name, ", ".join(names), pattern.about, _place(pattern)


def _place(pattern: AccessPattern) -> str:
    if pattern.total:
        rank = f" by {pattern.total.ranked_by}" if pattern.ranked else ""
        return f"total {pattern.total.name}{rank}"
    return pattern.index.name if pattern.index else "the table"
