"""What an example is asked, and what it must answer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from adminview.model.row import Attributes
from adminview.query.engine import PAGE, QueryEngine

Items: TypeAlias = Mapping[str, Sequence[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Found:
    """A row of an answer: its key, and what matters of its data."""

    pk: str
    sk: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """An access pattern, the parameters it is asked with, and the rows that answer, in order.

    With a *limit*, the answer is the first page of so many rows; with *pages_of*, it is read to the
    end in pages of so many; and with *counted*, it is only counted, and this is the number.
    """

    pattern: str
    given: Mapping[str, Any]
    answer: Sequence[Found] = ()
    limit: int | None = None
    pages_of: int | None = None
    counted: int | None = None

    @property
    def manner(self) -> str:
        """Say how it is asked, if not just so."""
        if self.limit:
            return f"the first {self.limit}"
        if self.pages_of:
            return f"in pages of {self.pages_of}"
        return "" if self.counted is None else "counted"


def pages(asker: QueryEngine, question: Question) -> Iterator[list[Attributes]]:
    """Ask for one page, or page after page."""
    size = question.limit or question.pages_of or PAGE
    cursor: str | None = None
    while True:
        page = asker.ask(question.pattern, limit=size, cursor=cursor, **question.given)
        yield [answered.row for answered in page.rows]
        cursor = page.cursor
        if cursor is None or question.limit:
            return
