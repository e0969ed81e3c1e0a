"""Views: pure functions from a source item to its rows."""

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

# Default limits per item. A function holds the rows of several items in memory, and a replay eight
# times as many.
MAX_ROWS: Final = 1000
MAX_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class View:
    """A function that derives rows, and the items it applies to."""

    source: Source
    derive: Derivation
    applies: Predicate
    module: str
    max_rows: int = MAX_ROWS
    max_bytes: int = MAX_BYTES

    what: ClassVar[str] = "view"

    @property
    def name(self) -> str:
        return self.derive.__name__

    def __call__(self, item: Item) -> Iterator[Row]:
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
    """Declare a view of all items of *source*, or of one kind.

    In a single-table source, select the items by the beginning of the sort key (*sort_begins*), by
    attribute values (*where*) or by a predicate (*when*). If you give several, all must hold.

    An item with more than *max_rows* rows, or with rows of more than *max_bytes* bytes of JSON in
    total, is dead-lettered. If you raise the limits, raise the functions' memory too.
    """
    for name, limit in (("max_rows", max_rows), ("max_bytes", max_bytes)):
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            msg = f"{name} of a view on {source.name!r} must be a positive number, not {limit!r}"
            raise DeclarationError(msg)
    applies = item_filter("a view", source, sort_begins=sort_begins, where=where, when=when)

    def declare(derive: Derivation) -> View:
        if not isgeneratorfunction(derive):
            name = getattr(derive, "__name__", repr(derive))
            msg = (
                f"view {name!r} on {source.name!r} must be a function that yields its rows: "
                "write `yield Row(…)`"
            )
            raise DeclarationError(msg)
        return View(source, derive, applies, derive.__module__, max_rows, max_bytes)

    return declare
