"""Views: pure functions from one source item to its rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import isgeneratorfunction
from typing import Any, TypeAlias

from lambdas.model.errors import DeclarationError
from lambdas.model.item import Item, encode
from lambdas.model.row import Row
from lambdas.model.source import Source

Derivation: TypeAlias = Callable[[Item], Iterator[Row]]
Predicate: TypeAlias = Callable[[Item], bool]


@dataclass(frozen=True, slots=True)
class View:
    """A derivation, and which items of its source it is for."""

    source: Source
    derive: Derivation
    applies: Predicate
    module: str

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
    if not isinstance(source, Source):
        msg = f"a view is on a Source, not on {source!r}"
        raise DeclarationError(msg)
    if sort_begins is not None and (source.sort_key is None or source.sort_key.type != "S"):
        msg = (
            f"a view on {source.name!r} is for sort keys that begin with {sort_begins!r}, "
            "but the source has no sort key of text"
        )
        raise DeclarationError(msg)
    conditions = [
        condition
        for condition in (
            _sort_key_begins(source, sort_begins) if sort_begins is not None else None,
            _attributes_equal(where) if where else None,
            when,
        )
        if condition is not None
    ]

    def applies(item: Item) -> bool:
        return all(condition(item) for condition in conditions)

    def declare(derive: Derivation) -> View:
        if not isgeneratorfunction(derive):
            msg = (
                f"a view on {source.name!r} must be a function that yields rows; {derive!r} is not"
            )
            raise DeclarationError(msg)
        return View(source, derive, applies, derive.__module__)

    return declare


def _sort_key_begins(source: Source, prefix: str) -> Predicate:
    assert source.sort_key is not None  # checked where the view is declared
    name = source.sort_key.name
    return lambda item: item[name].startswith(prefix)


def _attributes_equal(expected: dict[str, Any]) -> Predicate:
    wires = {name: encode(value) for name, value in expected.items()}
    return lambda item: all(item.has(name, wire) for name, wire in wires.items())
