"""What was asked: a query string -> parameters, each named once and none too long."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl

from adminview.http_api.problems import ProblemError
from adminview.query.cursor import LENGTH_LIMIT as CURSOR_LIMIT
from adminview.query.engine import MOST

VALUE_LIMIT: Final = 2048  # bytes, as DynamoDB takes of a partition key
MOST_PARAMETERS: Final = 20
NAME_SHOWN: Final = 40  # characters of an unknown parameter's name that a problem repeats
NOT_TEXT: Final = "the query is not UTF-8, percent-encoded"
TOO_MANY: Final = f"there are more than {MOST_PARAMETERS} parameters"
LIMIT, CURSOR, ORDER = "limit", "cursor", "order"


def read_query(text: str, known: Sequence[str] | None) -> dict[str, str]:
    """Read a query string; *known* names the parameters, unless the question itself checks them."""
    try:
        text.encode()  # raises if it holds a lone surrogate
        pairs = parse_qsl(
            text, keep_blank_values=True, errors="strict", max_num_fields=MOST_PARAMETERS
        )
    except UnicodeError as error:
        raise _refusal(NOT_TEXT) from error
    except ValueError as error:
        raise _refusal(TOO_MANY) from error
    for problem in _problems(pairs, known):
        raise _refusal(problem)
    return dict(pairs)


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A question's parameters, and which part of its answer is wanted."""

    parameters: dict[str, str]
    limit: int | None
    cursor: str | None
    order: str | None

    @classmethod
    def read(cls, text: str) -> "ApiRequest":
        """Tell the parameters of a question from those of its pages."""
        given = read_query(text, None)
        limit = given.pop(LIMIT, None)
        return cls(
            limit=None if limit is None else _whole(limit),
            cursor=given.pop(CURSOR, None),
            order=given.pop(ORDER, None),
            parameters=given,
        )


def _whole(text: str) -> int:
    """Read a number of rows; 0, which the question refuses in its own words, if it is none."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(MOST)) else 0
    return number if number <= MOST else 0


def _problems(pairs: list[tuple[str, str]], known: Sequence[str] | None) -> Iterator[str]:
    times = Counter(name for name, _ in pairs)
    for name, value in pairs:
        shown = repr(name[:NAME_SHOWN])
        if known is not None and name not in known:
            yield f"{shown} is unknown; there are {', '.join(known) or 'no parameters'}"
        if times[name] > 1:
            yield f"{shown} is given {times[name]} times; it is given once"
        if not value:
            yield f"{shown} is empty"
        most = CURSOR_LIMIT if name == CURSOR else VALUE_LIMIT
        if (size := len(value.encode())) > most:
            yield f"{shown} takes {size} bytes; at most {most}"
        if len(name) > VALUE_LIMIT:
            yield f"{shown}… is no parameter's name"


def _refusal(why: str) -> ProblemError:
    return ProblemError(HTTPStatus.BAD_REQUEST, why)
