"""Errors of views and migrations without customer data.

The text of any error can quote data. So a text is kept only if our own code raised the error, and
an attribute is named only if the view file itself names it: the keys of a map may be data.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import GeneratorType, TracebackType

from adminview import model
from adminview.model.errors import MissingAttributeError, RecordError, ViewError
from adminview.model.fingerprint import parse
from adminview.model.migration import Migration
from adminview.model.row import Row
from adminview.model.view import View

OURS = {Path(model.__file__).parent, Path(__file__).parent}


def redact(
    error: BaseException, view: View | Migration, yielded: Iterator[Row] | None = None
) -> RecordError:
    """Return a RecordError without data for *error*, with the line of the view file it passed.

    If it passed none, the line is that of the `yield` at which the view waits, if *yielded* does,
    or else the first one of the view.
    """
    frames = list(_frames(error.__traceback__))
    innermost = Path(frames[-1][0]) if frames else Path()
    redacted: RecordError
    if not isinstance(error, RecordError) or innermost.parent not in OURS:
        redacted = ViewError(error, view.what)
    elif isinstance(error, MissingAttributeError):
        texts = _texts(view.derive.__code__.co_filename)
        redacted = MissingAttributeError(
            error.name, owner=error.owner, may_name=error.name in texts
        )
    else:
        redacted = type(error)(*error.args)
    redacted.place = _place(frames, view, yielded)
    return redacted


def _frames(traceback: TracebackType | None) -> list[tuple[str, int]]:
    frames = []
    while traceback:
        frames.append((traceback.tb_frame.f_code.co_filename, traceback.tb_lineno))
        traceback = traceback.tb_next
    return frames


def _place(
    frames: list[tuple[str, int]], view: View | Migration, yielded: Iterator[Row] | None
) -> str:
    """Name the view and the last line of its file that an error passed."""
    view_file = view.derive.__code__.co_filename
    lines = [line for file, line in frames if file == view_file]
    lines = lines or [line for file, line in _yields(yielded) if file == view_file]
    line = lines[-1] if lines else view.derive.__code__.co_firstlineno
    return f"{view.what} {view.name!r} at {view.module}:{line}"


def _yields(generator: object) -> Iterator[tuple[str, int]]:
    """Yield the file and line of each `yield` at which a generator waits, outermost first."""
    while isinstance(generator, GeneratorType) and generator.gi_frame:
        yield generator.gi_code.co_filename, generator.gi_frame.f_lineno
        generator = generator.gi_yieldfrom


def forget_view_files() -> None:
    """Read view files again when they are next needed: they may have changed."""
    _texts.cache_clear()


@cache
def _texts(file: str) -> frozenset[str]:
    """Return the string literals of a view file."""
    try:
        tree = parse(Path(file).read_text(encoding="utf-8"))
    except OSError:
        return frozenset()
    return frozenset(
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
