"""The only module that prints, enforced by `tests/test_architecture.py`.

Keys, attribute names, values and AWS error texts are untrusted. They are escaped here: no control
character, bidirectional override or lone surrogate reaches the terminal, and nothing is
interpreted as markup.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from json import dumps
from traceback import format_exc
from typing import Any, Final, TextIO, TypeAlias, cast
from unicodedata import category

import typer
from rich import console, markup, progress, table
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import StyleType
from rich.text import Text

from adminview.cli.output.activity import Activity

Cell: TypeAlias = str | Text  # a Text is already escaped by `styled` or `joined`
TITLE_WIDTH: Final = 78  # columns; a longer title is folded
NEWLINE: Final = "\n"
UNBOUND: Final = 1_000_000  # columns: wider than any row
# A spreadsheet treats a cell that begins with one of these as a formula (OWASP, CSV injection).
FORMULA: Final = tuple("=+-@\t\r\n＝＋－＠﹦")  # noqa: RUF001 - full-width forms count too
NUMBER: Final = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
# Fewer than `printable` escapes: files keep joiners and no-break spaces.
UNSAFE_IN_FILES: Final = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


ACTIVITY: Final = Activity()


@contextmanager
def activity() -> Iterator[None]:
    """Display what a silent command is doing, if standard error is a terminal."""
    console = Console(stderr=True)
    terminal = console.file if console.at_terminal else None
    with ACTIVITY.running(cast("TextIO | None", terminal), lambda: console.width):
        yield


def doing(text: str) -> None:
    """Say what the command is doing from now on, for the case that it takes long."""
    ACTIVITY.doing(printable(text))


def counting(text: str) -> None:
    """Say how far it is."""
    ACTIVITY.counting(printable(text))


def idle() -> None:
    """Say nothing until there is something to do again."""
    ACTIVITY.doing("")


def end_activity() -> None:
    """Say nothing more: the command waits for Ctrl-C, or something else prints."""
    ACTIVITY.end()


def printable(text: str, keep: str = "") -> str:
    """Replace unprintable characters, except those in *keep*, with Python escapes.

    Combining marks at the beginning have nothing to combine with, and rich would drop them.
    """
    marks = 0 if text[:1].isascii() else sum(1 for _ in takewhile(_has_no_width, text))
    if not marks and text.isprintable():
        return text
    return text[:marks].encode("ascii", "backslashreplace").decode() + "".join(
        char if char.isprintable() or char in keep else repr(char)[1:-1] for char in text[marks:]
    )


def _has_no_width(char: str) -> bool:
    return char.isprintable() and cell_len(char) == 0


def styled(text: str, style: StyleType = "") -> Text:
    return Text(printable(text), style)


def joined(separator: str, parts: Iterable[Cell]) -> Text:
    return _text(separator).join(_text(part) for part in parts)


class Console(console.Console):
    """A console that escapes every text except newlines, and interprets no markup."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    @property
    def at_terminal(self) -> bool:
        """Whether it prints to a terminal. Unlike `is_terminal`, FORCE_COLOR does not matter."""
        return self.file.isatty() if self._force_terminal is None else self._force_terminal

    def render_str(self, text: str, **options: Any) -> Text:
        plain = {"markup": False, "emoji": False, "highlight": False}
        return super().render_str(printable(text, NEWLINE), **(options | plain))

    def print(self, *objects: Any, **options: Any) -> None:
        """Print objects. Lines that leave a terminal's width are cut; those of a pipe are not."""
        with ACTIVITY.paused():
            super().print(*objects, **({"crop": self.at_terminal} | options))

    def write_json(self, text: str) -> None:
        with ACTIVITY.paused():
            self.file.write(f"{_json(text)}\n")


class TextTable(table.Table):
    """A table that escapes title, headers and cells; in cells, newlines too.

    It begins with *columns*, which fold long texts. It fits a terminal's width. Elsewhere each row
    is one line, however long.
    """

    def __init__(self, title: str, *columns: str, **options: Any) -> None:
        lines = title.splitlines() or [""]
        super().__init__(
            title=Text(printable(title, NEWLINE), "bold"),
            min_width=min(TITLE_WIDTH, max(map(len, lines))),
            title_justify="left",
            box=SIMPLE_HEAD,
            pad_edge=False,
            **options,
        )
        for column in columns:
            self.add_column(column, overflow="fold")

    def __rich_console__(
        self, console: console.Console, options: console.ConsoleOptions
    ) -> console.RenderResult:
        if getattr(console, "at_terminal", True):
            yield from super().__rich_console__(console, options)
            return
        options = options.update(max_width=UNBOUND)
        segments = cast("Iterable[Segment]", super().__rich_console__(console, options))
        # Without the spaces at the end: a terminal that shows the lines later would fold those.
        for line in Segment.split_lines(segments):
            yield from _without_end_spaces(line)
            yield Segment.line()

    def add_column(self, header: Any = "", *more: Any, **options: Any) -> None:
        super().add_column(_text(header), *more, **options)

    def add_row(self, *cells: Any, **options: Any) -> None:
        super().add_row(*map(_text, cells), **options)


def _without_end_spaces(line: list[Segment]) -> list[Segment]:
    while line and not line[-1].text.rstrip(" "):
        line.pop()
    return [*line[:-1], *(Segment(end.text.rstrip(" "), end.style) for end in line[-1:])]


def echo(text: object, *, err: bool = False) -> None:
    """Print a text and a newline. Newlines within it are kept."""
    with ACTIVITY.paused():
        typer.echo(printable(str(text), NEWLINE), err=err)


def print_error(text: str) -> None:
    """Print an error on standard error, in red."""
    with ACTIVITY.paused():
        typer.secho(printable(text, NEWLINE), fg="red", err=True)


def print_traceback() -> None:
    """Print the traceback of the exception being handled on standard error."""
    echo(format_exc().rstrip(), err=True)


def print_json(text: str) -> None:
    """Print a JSON text on standard output."""
    with ACTIVITY.paused():
        typer.echo(_json(text))


def print_csv(text: str) -> None:
    """Print CSV on standard output. Its cells must come from `csv_cell` or `raw_csv_cell`."""
    with ACTIVITY.paused():
        typer.echo(text, nl=False)


def csv_cell(text: str) -> str:
    """Disarm formulas and escape control characters. Numbers are unchanged."""
    safe = UNSAFE_IN_FILES.sub(lambda match: repr(match[0])[1:-1], text)
    # A spreadsheet may skip invisible characters before a formula.
    invisible = "".join(char for char in {*text} if char.isspace() or category(char) == "Cf")
    starts = text.startswith(FORMULA) or text.lstrip(invisible).startswith(FORMULA)
    return f"'{safe}" if starts and not NUMBER.fullmatch(text) else safe


def raw_csv_cell(text: str) -> str:
    """Return a text as it is, except lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "backslashreplace").decode()


def confirm(prompt: str, **options: Any) -> bool:
    with ACTIVITY.paused():
        return typer.confirm(printable(prompt, NEWLINE), **options)


def help_text(text: str) -> str:
    """Escape a text for --help, which interprets markup."""
    return markup.escape(printable(text, NEWLINE))


def progress_text(template: str) -> progress.TextColumn:
    """Return a progress bar column from a template such as {task.description}."""
    return progress.TextColumn(template, markup=False)


def _text(cell: Cell) -> Text:
    return styled(cell) if isinstance(cell, str) else cell


def _json(text: str) -> str:
    """Replace unprintable characters with JSON escapes. Outside strings there are none."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char == NEWLINE else dumps(char)[1:-1] for char in text
    ).replace("\x7f", "\\u007f")
