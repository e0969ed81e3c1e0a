"""The one place that prints.

Keys, attribute names, values and AWS error texts come from others. They are escaped here: no
control character, bidirectional override or lone surrogate reaches the terminal, and nothing is
read as markup. A test in `tests/test_architecture.py` keeps other modules from printing.
"""

import re
from collections.abc import Iterable
from json import dumps
from traceback import format_exc
from typing import Any, Final, TypeAlias
from unicodedata import category

import typer
from rich import console, markup, progress, table
from rich.box import SIMPLE_HEAD
from rich.style import StyleType
from rich.text import Text

Cell: TypeAlias = str | Text  # a Text comes from `styled` or `joined`, and is escaped already
TITLE_WIDTH: Final = 78  # columns; a longer title is folded
NEWLINE: Final = "\n"
# A spreadsheet reads a cell that begins with one of these as a formula (OWASP, CSV injection).
FORMULA: Final = tuple("=+-@\t\r\n＝＋－＠﹦")  # noqa: RUF001 - full-width forms count too
NUMBER: Final = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
# Fewer than `printable` escapes: a file keeps joiners and no-break spaces as they are.
UNSAFE_IN_FILES: Final = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str, keep: str = "") -> str:
    """Write what is not printable as escapes, as Python would; *keep* lists exceptions."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in keep else repr(one)[1:-1] for one in text)


def styled(text: str, style: StyleType = "") -> Text:
    """Give data a style."""
    return Text(printable(text), style)


def joined(separator: str, parts: Iterable[Cell]) -> Text:
    """Join pieces, each with its own style."""
    return _text(separator).join(_text(part) for part in parts)


class Console(console.Console):
    """A console that escapes every text, and reads none as markup. Newlines are kept."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Turn a text into what is printed."""
        plain = {"markup": False, "emoji": False, "highlight": False}
        return super().render_str(printable(text, NEWLINE), **(options | plain))

    def write_json(self, text: str) -> None:
        """Print a JSON text in a line, or in several if it has several."""
        self.file.write(f"{_json(text)}\n")


class TextTable(table.Table):
    """A table whose title, headers and cells are escaped; in a cell, newlines too."""

    def __init__(self, title: str, **options: Any) -> None:
        lines = title.splitlines() or [""]
        super().__init__(
            title=Text(printable(title, NEWLINE), "bold"),
            min_width=min(TITLE_WIDTH, max(map(len, lines))),
            title_justify="left",
            box=SIMPLE_HEAD,
            pad_edge=False,
            **options,
        )

    def add_column(self, header: Any = "", *more: Any, **options: Any) -> None:
        """Add a column."""
        super().add_column(_text(header), *more, **options)

    def add_row(self, *cells: Any, **options: Any) -> None:
        """Add a row of cells, each a text or a styled text."""
        super().add_row(*map(_text, cells), **options)


def echo(text: object, *, err: bool = False) -> None:
    """Print a text in a line; newlines in it are kept."""
    typer.echo(printable(str(text), NEWLINE), err=err)


def print_error(text: str) -> None:
    """Print an error on standard error, in red."""
    typer.secho(printable(text, NEWLINE), fg="red", err=True)


def print_traceback() -> None:
    """Print the traceback of the exception being handled on standard error."""
    echo(format_exc().rstrip(), err=True)


def print_json(text: str) -> None:
    """Print a JSON text on standard output."""
    typer.echo(_json(text))


def print_csv(text: str) -> None:
    """Print a CSV text, whose cells were made by `csv_cell`, on standard output."""
    typer.echo(text, nl=False)


def csv_cell(text: str) -> str:
    """Neutralise what a spreadsheet would run or a terminal obey; numbers stay as they are."""
    safe = UNSAFE_IN_FILES.sub(lambda found: repr(found[0])[1:-1], text)
    # What a spreadsheet does not show, it may skip before a formula.
    shown = text.lstrip("".join(one for one in {*text} if one.isspace() or category(one) == "Cf"))
    starts = text.startswith(FORMULA) or shown.startswith(FORMULA)
    return f"'{safe}" if starts and not NUMBER.fullmatch(text) else safe


def confirm(question: str, **options: Any) -> bool:
    """Ask for a yes or a no."""
    return typer.confirm(printable(question, NEWLINE), **options)


def help_text(text: str) -> str:
    """Write a text for --help, which reads markup."""
    return markup.escape(printable(text, NEWLINE))


def progress_text(template: str) -> progress.TextColumn:
    """Make a column of a progress bar from a template such as {task.description}."""
    return progress.TextColumn(template, markup=False)


def _text(cell: Cell) -> Text:
    return styled(cell) if isinstance(cell, str) else cell


def _json(text: str) -> str:
    """Escape as JSON what is not printable: outside of its strings there is only whitespace."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() or one == NEWLINE else dumps(one)[1:-1] for one in text
    ).replace("\x7f", "\\u007f")
