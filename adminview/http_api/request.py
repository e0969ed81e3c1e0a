"""Parse the query string: each parameter once, and none too long."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl

from adminview.http_api.problems import ProblemError
from adminview.query.cursor import LENGTH_LIMIT as CURSOR_LIMIT
from adminview.query.engine import MOST

VALUE_LIMIT: Final = 2048  # bytes, DynamoDB's limit for a partition key
MOST_PARAMETERS: Final = 20
NAME_SHOWN: Final = 40  # characters of an unknown name that an error repeats
NOT_TEXT: Final = "the query string is not percent-encoded UTF-8"
TOO_MANY: Final = f"there are more than {MOST_PARAMETERS} parameters"
LIMIT, CURSOR, ORDER = "limit", "cursor", "order"


def read_query(text: str, known: Sequence[str] | None) -> dict[str, str]:
    """Parse a query string; *known* are the allowed names, None if the caller checks them."""
    try:
        text.encode()  # raises for a lone surrogate
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
    """The parameters of a query, and its paging options."""

    parameters: dict[str, str]
    limit: int | None
    cursor: str | None
    order: str | None

    @classmethod
    def read(cls, text: str) -> "ApiRequest":
        """Separate the parameters of the access pattern from the paging options."""
        parameters = read_query(text, None)
        limit = parameters.pop(LIMIT, None)
        return cls(
            limit=None if limit is None else _row_count(limit),
            cursor=parameters.pop(CURSOR, None),
            order=parameters.pop(ORDER, None),
            parameters=parameters,
        )


def _row_count(text: str) -> int:
    """Parse a number of rows; 0 if it is invalid: the engine refuses it."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(MOST)) else 0
    return number if number <= MOST else 0


def _problems(pairs: list[tuple[str, str]], known: Sequence[str] | None) -> Iterator[str]:
    times = Counter(name for name, _ in pairs)
    for name, value in pairs:
        quoted = repr(name[:NAME_SHOWN])
        if known is not None and name not in known:
            yield f"{quoted} is unknown; known: {', '.join(known) or 'no parameters'}"
        if times[name] > 1:
            yield f"{quoted} is given {times[name]} times; give it once"
        if not value:
            yield f"{quoted} is empty"
        most = CURSOR_LIMIT if name == CURSOR else VALUE_LIMIT
        if (size := len(value.encode())) > most:
            yield f"{quoted} has {size} bytes; the limit is {most}"
        if len(name) > VALUE_LIMIT:
            yield f"{quoted}… is too long for a parameter name"


def _refusal(detail: str) -> ProblemError:
    return ProblemError(HTTPStatus.BAD_REQUEST, detail)
