"""Tables of rows, facts and access patterns."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from adminview.cli.output.printing import Cell, TextTable, joined, styled
from adminview.http_api.catalogue import catalogue
from adminview.model import AccessPattern, Item, Registry
from adminview.model.errors import RowError
from adminview.model.item import check_range

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
        return joined("  ", pairs) if pairs else "{}"
    if isinstance(value, list | tuple):
        return joined(", ", map(_element, value)) if value else "[]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return number_text(value)
    return "" if value is None else str(value)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def number_text(number: float) -> str:
    """Write a number without an exponent."""
    return f"{Decimal(repr(number)):f}"


def _element(value: Any) -> Cell:
    return joined("", ["(", cell(value), ")"]) if isinstance(value, Mapping) else cell(value)


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


def patterns_data(registry: Registry) -> dict[str, Any]:
    """Return the access patterns as `GET /patterns` does, without the state of a deployment."""
    data = catalogue(registry, registry.fingerprint, {})
    for pattern in data["patterns"]:
        del pattern["ready"]
    return data


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
