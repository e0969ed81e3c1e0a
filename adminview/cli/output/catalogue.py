"""The catalogue of access patterns, for people and for the README."""

from collections.abc import Iterator

from adminview.cli.output.printing import TextTable
from adminview.cli.output.tables import table
from adminview.model import AccessPattern, Registry

COLUMNS = ("access pattern", "parameters", "answers", "asked of")


def rows(registry: Registry) -> Iterator[tuple[str, str, str, str]]:
    """Describe each pattern in a line."""
    for pattern in sorted(registry.patterns, key=lambda one: one.name):
        taken = [f"[{one}]" if one in pattern.optional else one for one in pattern.parameters]
        yield pattern.name, ", ".join(taken), pattern.about, _place(pattern)


def catalogue(registry: Registry) -> TextTable:
    """Show the catalogue on a terminal."""
    shown = table("Access patterns")
    for column in COLUMNS:
        shown.add_column(column, overflow="fold", no_wrap=column == COLUMNS[0])
    for row in rows(registry):
        shown.add_row(*row)
    return shown


def markdown(registry: Registry) -> str:
    """Write the catalogue as the README has it."""
    lines = [COLUMNS, ("---",) * len(COLUMNS)]
    lines += [(f"`{name}`", *rest) for name, *rest in rows(registry)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _place(pattern: AccessPattern) -> str:
    return pattern.index.name if pattern.index else "the table"
