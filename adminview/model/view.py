"""Views: pure functions from one source item to its rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import isgeneratorfunction
from typing import Any, ClassVar, Final, TypeAlias

from adminview.model.errors import DeclarationError
from adminview.model.item import Item
from adminview.model.item_filter import Predicate, item_filter
from adminview.model.row import Row
from adminview.model.source import Source

Derivation: TypeAlias = Callable[[Item], Iterator[Row]]

# What one item may come to, unless its view says otherwise. A function holds the rows of several
# items at once, and a replay eight times as many.
MAX_ROWS: Final = 1000
MAX_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class View:
    """A derivation, and which items of its source it is for."""

    source: Source
    derive: Derivation
    applies: Predicate
    module: str
    max_rows: int = MAX_ROWS
    max_bytes: int = MAX_BYTES

    what: ClassVar[str] = "view"

    @property
    def name(self) -> str:
        """Name the view as its author did."""
        return self.derive.__name__

    def __call__(self, item: Item) -> Iterator[Row]:
        """Derive the rows of one item."""
        return self.derive(item)


def view(  # noqa: PLR0913 - all but the source are keywords
    source: Source,
    *,
    sort_begins: str | None = None,
    where: dict[str, Any] | None = None,
    when: Predicate | None = None,
    max_rows: int = MAX_ROWS,
    max_bytes: int = MAX_BYTES,
) -> Callable[[Derivation], View]:
    """Declare a view on *source*: of all its items, or of one kind.

    The kinds of a single-table source are told apart by the beginning of the sort key
    (*sort_begins*), by attribute values (*where*), by a predicate (*when*), or by several of them.

    An item of which the view makes more than *max_rows* rows, or rows of more than *max_bytes*
    bytes of JSON together, is dead-lettered. Raise the limits with the functions' memory.
    """
    for name, limit in (("max_rows", max_rows), ("max_bytes", max_bytes)):
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            msg = f"{name} of a view on {source.name!r} is a positive number; it is {limit!r}"
            raise DeclarationError(msg)
    applies = item_filter("a view", source, sort_begins=sort_begins, where=where, when=when)

    def declare(derive: Derivation) -> View:
        if not isgeneratorfunction(derive):
            msg = (
                f"a view on {source.name!r} must be a function that yields rows; {derive!r} is not"
            )
            raise DeclarationError(msg)
        return View(source, derive, applies, derive.__module__, max_rows, max_bytes)

    return declare
