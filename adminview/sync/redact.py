"""What may be told of an error that a view met: its kind and place, and our own words for it.

The text of an error can quote a customer, whoever wrote it. So a text is passed on only if our own
code raised the error, and an attribute is named only if the view file itself names it: the keys of
a map may be data. The same holds for migrations.
"""

import ast
from functools import cache
from pathlib import Path
from types import TracebackType

from adminview import model
from adminview.model.errors import MissingAttributeError, RecordError, ViewError
from adminview.model.migration import Migration
from adminview.model.syntax import parse
from adminview.model.view import View

OURS = {Path(model.__file__).parent, Path(__file__).parent}


def redact(error: BaseException, view: View | Migration) -> RecordError:
    """Make of any error one that can be told, with the line of the view file where it passed."""
    files = list(_frames(error.__traceback__))
    innermost = Path(files[-1][0]) if files else Path()
    told: RecordError
    if not isinstance(error, RecordError) or innermost.parent not in OURS:
        told = ViewError(error, view.what)
    elif isinstance(error, MissingAttributeError):
        words = _words(view.derive.__code__.co_filename)
        told = MissingAttributeError(error.name, told=error.name in words)
    else:
        told = type(error)(*error.args)
    told.place = _place(files, view)
    return told


def _frames(traceback: TracebackType | None) -> list[tuple[str, int]]:
    found = []
    while traceback:
        found.append((traceback.tb_frame.f_code.co_filename, traceback.tb_lineno))
        traceback = traceback.tb_next
    return found


def _place(frames: list[tuple[str, int]], view: View | Migration) -> str:
    """Find the last line of the view's own file that an error passed."""
    lines = [line for file, line in frames if file == view.derive.__code__.co_filename]
    return f"{view.what} {view.name!r} at {view.module}{f':{lines[-1]}' if lines else ''}"


@cache
def _words(file: str) -> frozenset[str]:
    """Collect the texts that a view file is written with."""
    try:
        tree = parse(Path(file).read_text(encoding="utf-8"))
    except OSError:
        return frozenset()
    return frozenset(
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
