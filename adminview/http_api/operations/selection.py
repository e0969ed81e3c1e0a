"""Parse selections of dead letters, and reasons, from request bodies."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, NoReturn

from adminview.dead_letters.groups import LetterGroup, Selection
from adminview.http_api.problems import ProblemError
from adminview.model.reason import LEAST_WORDS, says_why

NO_SELECTION: Final = (
    'a selection is an object with one member: "ids", "group", or "all", which is true'
)
MOST_IDS: Final = 1000
ID_LIMIT: Final = 200  # characters
REASON_LIMIT: Final = 500  # characters


def read_selection(value: Any) -> Selection:
    """Return the selection that a JSON object states; raise a ProblemError if it states none."""
    if isinstance(value, Mapping) and len(value) == 1:
        if "ids" in value:
            return Selection(ids=_ids(value["ids"]))
        if "group" in value:
            return Selection(group=_group(value["group"]))
        if value.get("all") is True:
            return Selection()
    raise ProblemError(HTTPStatus.BAD_REQUEST, NO_SELECTION)


def read_reason(value: Any) -> str:
    """Return a reason in one line; raise a ProblemError if it is too short or too long."""
    if not isinstance(value, str) or not _is_text(value):
        refuse('"reason" must be text')
    reason = " ".join(value.split())
    if not says_why(reason) or len(value) > REASON_LIMIT:
        refuse(
            f'"reason" must have {LEAST_WORDS} words or more, and at most {REASON_LIMIT} characters'
        )
    return reason


def read_members(body: Mapping[str, Any], required: set[str], optional: set[str]) -> None:
    """Raise a ProblemError unless a body has exactly these members."""
    if missing := sorted(required - body.keys()):
        refuse(f"{', '.join(missing)} is missing")
    if body.keys() - required - optional:
        refuse(f"the body may have only {', '.join(sorted(required | optional))}")


def is_whole_number(text: str, most: int) -> bool:
    """Return whether *text* is a whole number from 1 to *most*."""
    plain = text.isascii() and text.isdigit() and len(text) <= len(str(most))
    return plain and 1 <= int(text) <= most


def refuse(detail: str) -> NoReturn:
    """Raise a ProblemError (400)."""
    raise ProblemError(HTTPStatus.BAD_REQUEST, detail)


def _ids(value: Any) -> frozenset[str]:
    valid = isinstance(value, list) and 1 <= len(value) <= MOST_IDS
    if not valid or not all(_is_text(id_) and 1 <= len(id_) <= ID_LIMIT for id_ in value):
        refuse(f'"ids" must be a list of 1 to {MOST_IDS} ids of dead letters')
    return frozenset(value)


def _group(value: Any) -> LetterGroup:
    members = {"source", "view", "error"}
    if not isinstance(value, Mapping) or value.keys() != members:
        refuse('"group" must have source, view and error, as the list of groups has them')
    source, view, error = (value[name] for name in ("source", "view", "error"))
    if not _is_text(error) or not all(part is None or _is_text(part) for part in (source, view)):
        refuse('in a "group", error must be text, source and view text or null')
    return LetterGroup(source, view, error)


def _is_text(value: Any) -> bool:
    """Return whether a value is text that UTF-8 can encode."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False
