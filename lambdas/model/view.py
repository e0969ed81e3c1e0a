"""Views: pure functions from one source item to its rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import isgeneratorfunction
from typing import Any, ClassVar, TypeAlias

from lambdas.model.errors import DeclarationError
from lambdas.model.item import Item
from lambdas.model.kind import Predicate, kind
from lambdas.model.row import Row
from lambdas.model.source import Source

Derivation: TypeAlias = Callable[[Item], Iterator[Row]]


@dataclass(frozen=True, slots=True)
class View:
    """A derivation, and which items of its source it is for."""

    source: Source
    derive: Derivation
    applies: Predicate
    module: str

    what: ClassVar[str] = "view"

    @property
    def name(self) -> str:
        """Name the view as its author did."""
        return self.derive.__name__

    def __call__(self, item: Item) -> Iterator[Row]:
        """Derive the rows of one item."""
        return self.derive(item)


def view(
    source: Source,
    *,
    sort_begins: str | None = None,
    where: dict[str, Any] | None = None,
    when: Predicate | None = None,
) -> Callable[[Derivation], View]:
    """Declare a view on *source*: of all its items, or of one kind.

    The kinds of a single-table source are told apart by the beginning of the sort key
    (*sort_begins*), by attribute values (*where*), by a predicate (*when*), or by several of them.
    """
    applies = kind("a view", source, sort_begins=sort_begins, where=where, when=when)

    def declare(derive: Derivation) -> View:
        if not isgeneratorfunction(derive):
            msg = (
                f"a view on {source.name!r} must be a function that yields rows; {derive!r} is not"
            )
            raise DeclarationError(msg)
        return View(source, derive, applies, derive.__module__)

    return declare
