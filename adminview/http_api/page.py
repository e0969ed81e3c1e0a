"""One page of an answer, however large its rows are: Lambda answers with 6 MB at most.

Rows are read in shares, so that a thousand rows of 400 KB are never in memory at once; the page
ends where the next row would not fit, and its cursor goes on there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from json import dumps
from time import monotonic
from typing import Any, Final

from adminview.http_api.problems import ProblemError
from adminview.http_api.render import Renderer, text
from adminview.http_api.request import ApiRequest
from adminview.model import AccessPattern
from adminview.model.errors import ServiceError
from adminview.query.engine import PAGE, QueryEngine, QueryResult

ROOM: Final = (6 * 1024 - 64) * 1024  # bytes: Lambda's limit, and something for the headers
SHARE: Final = 200  # rows
PATIENCE: Final = 3.0  # seconds, after which a page is handed over as it is
TOO_LARGE: Final = "a row of this answer, with the rows beside it, is larger than an answer may be"


@dataclass(frozen=True, slots=True)
class Page:
    """Rows in JSON, and where the next page begins; None if this is the last."""

    rows: list[str]
    cursor: str | None


@dataclass(slots=True)
class PageMaker:
    """Fills a page for one question."""

    asker: QueryEngine
    renderer: Renderer
    pattern: AccessPattern
    parameters: dict[str, Any]
    order: str | None
    room: int = ROOM
    clock: Callable[[], float] = monotonic

    def fill(self, asked: ApiRequest) -> Page:
        """Read rows until there are enough, no more fit, or it takes too long."""
        limit = PAGE if asked.limit is None else asked.limit
        rows: list[str] = []
        cursor, room, begun = asked.cursor, self.room, self.clock()
        while True:
            share = min(limit - len(rows), SHARE if rows else PAGE)
            try:
                answer = self._ask(share, cursor)
            except ServiceError:
                if not rows:
                    raise
                return Page(rows, cursor)  # what is there is whole, and its cursor goes on
            texts = self._texts(answer)
            if _fitting(texts, room) < len(texts):
                return self._cut(rows, texts, cursor, room)
            rows += texts
            room -= sum(map(_size, texts))
            cursor = answer.cursor
            late = self.clock() - begun > PATIENCE
            if cursor is None or len(rows) >= limit or late:
                return Page(rows, cursor)

    def _cut(self, rows: list[str], texts: list[str], cursor: str | None, room: int) -> Page:
        """Take as many rows of the last share as fit, asked anew for the cursor behind them."""
        while (fit := _fitting(texts, room)) < len(texts):
            if not fit and rows:
                return Page(rows, cursor)
            if not fit:
                raise ProblemError(HTTPStatus.INTERNAL_SERVER_ERROR, TOO_LARGE)
            answer = self._ask(fit, cursor)
            texts = self._texts(answer)
        return Page(rows + texts, answer.cursor)

    def _ask(self, limit: int, cursor: str | None) -> QueryResult:
        return self.asker.ask(
            self.pattern.name, limit=limit, cursor=cursor, order=self.order, **self.parameters
        )

    def _texts(self, answer: QueryResult) -> list[str]:
        return [text(self.renderer.answered(one, self.pattern.shows)) for one in answer.rows]


def _fitting(texts: list[str], room: int) -> int:
    """Count the rows that fit, from the first on."""
    for count, one in enumerate(texts):
        room -= _size(one)
        if room < 0:
            return count
    return len(texts)


def _size(row: str) -> int:
    """Measure a row and its comma as Lambda sends them: the body is a JSON text within JSON."""
    return len(dumps(row)) + 1
