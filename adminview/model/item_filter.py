"""Which items of a source something is declared for: all of them, or one kind."""

from collections.abc import Callable
from typing import Any, TypeAlias

from adminview.model.errors import DeclarationError
from adminview.model.item import Item, encode
from adminview.model.source import Source

Predicate: TypeAlias = Callable[[Item], bool]


def item_filter(
    what: str,  # is declared: "a view", "a migration"
    source: Source,
    *,
    sort_begins: str | None,
    where: dict[str, Any] | None,
    when: Predicate | None,
) -> Predicate:
    """Tell the items of a kind from the others.

    The kinds of a single-table source are told apart by the beginning of the sort key
    (*sort_begins*), by attribute values (*where*), by a predicate (*when*), or by several of them.
    """
    if not isinstance(source, Source):
        msg = f"{what} is on a Source, not on {source!r}"
        raise DeclarationError(msg)
    if sort_begins is not None and (source.sort_key is None or source.sort_key.type != "S"):
        msg = (
            f"{what} on {source.name!r} is for sort keys that begin with {sort_begins!r}, "
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

    if len(conditions) <= 1:
        return conditions[0] if conditions else lambda _: True
    return lambda item: all(condition(item) for condition in conditions)


def _sort_key_begins(source: Source, prefix: str) -> Predicate:
    assert source.sort_key is not None  # checked where the kind is declared
    name = source.sort_key.name
    return lambda item: item[name].startswith(prefix)


def _attributes_equal(expected: dict[str, Any]) -> Predicate:
    wires = {name: encode(value) for name, value in expected.items()}
    return lambda item: all(item.has(name, wire) for name, wire in wires.items())
