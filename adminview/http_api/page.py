"""Fill one page within the limit of a Lambda response, 6 MB.

Rows are read in batches, so that a thousand rows of 400 KB are never in memory at once. The page
ends where the next row would not fit, and its cursor continues there.
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

ROOM: Final = (6 * 1024 - 64) * 1024  # bytes: Lambda's limit, less room for the headers
BATCH: Final = 200  # rows
PATIENCE: Final = 3.0  # seconds, after which a partial page is returned
TOO_LARGE: Final = "a row of this page, with its joined rows, exceeds the size of a response"


@dataclass(frozen=True, slots=True)
class Page:
    """Rows in JSON, and the cursor of the next page; None if this is the last."""

    rows: list[str]
    cursor: str | None


@dataclass(slots=True)
class PageBuilder:
    engine: QueryEngine
    renderer: Renderer
    pattern: AccessPattern
    parameters: dict[str, Any]
    order: str | None
    room: int = ROOM
    clock: Callable[[], float] = monotonic

    def fill(self, request: ApiRequest) -> Page:
        """Read rows until the limit is reached, no more fit, or it takes too long."""
        limit = PAGE if request.limit is None else request.limit
        rows: list[str] = []
        cursor, room, begun = request.cursor, self.room, self.clock()
        while True:
            batch = min(limit - len(rows), BATCH if rows else PAGE)
            try:
                result = self._query(batch, cursor)
            except ServiceError:
                if not rows:
                    raise
                return Page(rows, cursor)  # a shorter page is valid: its cursor continues
            texts = self._texts(result)
            if _fitting(texts, room) < len(texts):
                return self._cut(rows, texts, cursor, room)
            rows += texts
            room -= sum(map(_size, texts))
            cursor = result.cursor
            late = self.clock() - begun > PATIENCE
            if cursor is None or len(rows) >= limit or late:
                return Page(rows, cursor)

    def _cut(self, rows: list[str], texts: list[str], cursor: str | None, room: int) -> Page:
        """Add the rows of the last batch that fit; query them again to get their cursor."""
        while (fit := _fitting(texts, room)) < len(texts):
            if not fit and rows:
                return Page(rows, cursor)
            if not fit:
                raise ProblemError(HTTPStatus.INTERNAL_SERVER_ERROR, TOO_LARGE)
            result = self._query(fit, cursor)
            texts = self._texts(result)
        return Page(rows + texts, result.cursor)

    def _query(self, limit: int, cursor: str | None) -> QueryResult:
        return self.engine.page(
            self.pattern.name, limit=limit, cursor=cursor, order=self.order, **self.parameters
        )

    def _texts(self, result: QueryResult) -> list[str]:
        return [text(self.renderer.answered(row, self.pattern.shows)) for row in result.rows]


def _fitting(texts: list[str], room: int) -> int:
    """Return how many of the first rows fit."""
    for count, row in enumerate(texts):
        room -= _size(row)
        if room < 0:
            return count
    return len(texts)


def _size(row: str) -> int:
    """Return the size of a row and its comma in the response, where the body is a JSON string."""
    return len(dumps(row)) + 1
