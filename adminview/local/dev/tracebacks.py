"""Tracebacks of view files: only lines of the app, with the original text of the error."""

import linecache
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from sysconfig import get_paths
from traceback import FrameSummary, StackSummary, TracebackException

import adminview
from adminview.model.dead_letter import AnyLetter, RecordLetter
from adminview.model.errors import AdminViewError, RecordError
from adminview.model.item import AttributeValue, Image
from adminview.model.limits import ROW_LIMIT
from adminview.model.places import INSTALLED
from adminview.sync.decode import Route
from adminview.sync.derive import derive

PLACE = re.compile(r"view '(?P<view>\w+)' at (?P<module>[\w.]+):(?P<line>\d+)")
LIBRARY = Path(adminview.__file__).parent
PYTHON = {Path(get_paths()[name]) for name in ("stdlib", "platstdlib")}


def app_traceback(error: BaseException) -> str:
    """Return the traceback of an error, or of its cause, with the lines of the app's own files.

    An error of a row passes none: then it is the line of the `yield`. Files are named relative to
    the current folder.
    """
    linecache.checkcache()
    cause = error.__cause__ or error
    trace = TracebackException.from_exception(cause)
    frames = [frame for frame in trace.stack if _is_own(frame)]
    if not frames and not isinstance(cause, SyntaxError):  # which names a line itself
        frames = _yield_of(error) or trace.stack[-1:]
    trace.stack = StackSummary.from_list(frames)
    lines = trace.format(chain=False) if frames else trace.format_exception_only()
    text = "".join(lines).rstrip()
    return text.replace(f"{Path.cwd()}/", "")


def _yield_of(error: BaseException) -> list[FrameSummary]:
    """Return the line of a view file that the place of an error names, if it names one."""
    named = PLACE.fullmatch(error.place) if isinstance(error, AdminViewError) else None
    file = getattr(sys.modules.get(named["module"]), "__file__", None) if named else None
    return [FrameSummary(file, int(named["line"]), named["view"])] if named and file else []


def _is_own(frame: FrameSummary) -> bool:
    file = Path(frame.filename)
    if not file.is_absolute() or INSTALLED & {*file.parts}:
        return False
    return not ({LIBRARY} | PYTHON) & {*file.parents}


def explain(
    letter: AnyLetter,
    routes: Mapping[str, Route],
    read: Callable[[str, dict[str, AttributeValue]], Image | None],
) -> str:
    """Return the traceback of the view that fails for a dead letter's item; "" if none fails.

    A dead letter contains no data and no original error text. So *read* returns the item, and its
    rows are derived again.
    """
    route = routes.get(letter.table or "") if isinstance(letter, RecordLetter) else None
    if route is None or not isinstance(letter, RecordLetter) or letter.key is None:
        return ""
    try:
        derive(route.views, read(route.table, dict(letter.key)), room=ROW_LIMIT)
    except RecordError as error:
        return app_traceback(error)
    return ""
