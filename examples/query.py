"""The queries of an example, and the rows that they must return."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from adminview.model.row import Attributes
from adminview.query.engine import PAGE, QueryEngine

Items: TypeAlias = Mapping[str, Sequence[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class ExpectedRow:
    """A row of a result: its key, and part of its data."""

    pk: str
    sk: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ExampleQuery:
    """An access pattern, the parameters of a query, and the expected rows in order.

    With *limit*, only the first page of so many rows is read. With *pages_of*, all pages of so many
    rows are. With *counted*, the rows are only counted, and this is the expected number.
    """

    pattern: str
    parameters: Mapping[str, Any]
    rows: Sequence[ExpectedRow] = ()
    limit: int | None = None
    pages_of: int | None = None
    counted: int | None = None

    @property
    def mode(self) -> str:
        """Return how the rows are read, or an empty text for all of them."""
        if self.limit:
            return f"the first {self.limit}"
        if self.pages_of:
            return f"in pages of {self.pages_of}"
        return "" if self.counted is None else "counted"


def pages(engine: QueryEngine, query: ExampleQuery) -> Iterator[list[Attributes]]:
    """Yield the pages that *query* reads."""
    size = query.limit or query.pages_of or PAGE
    cursor: str | None = None
    while True:
        page = engine.page(query.pattern, limit=size, cursor=cursor, **query.parameters)
        yield [answered.row for answered in page.rows]
        cursor = page.cursor
        if cursor is None or query.limit:
            return
