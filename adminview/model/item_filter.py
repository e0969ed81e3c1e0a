"""Which items of a source a view or a migration applies to: all, or one kind."""

from collections.abc import Callable
from inspect import isfunction
from typing import Any, TypeAlias

from adminview.model.errors import DeclarationError
from adminview.model.item import Item, encode
from adminview.model.source import Source

Predicate: TypeAlias = Callable[[Item], bool]


def item_filter(
    declaration: str,  # for errors: "a view", "a migration"
    source: Source,
    *,
    sort_begins: str | None,
    where: dict[str, Any] | None,
    when: Predicate | None,
) -> Predicate:
    """Return a predicate that selects items; all conditions must hold, and none selects all items.

    *sort_begins* compares the beginning of the sort key, *where* attribute values; *when* is any
    predicate. Raises a DeclarationError if the source cannot have such items.
    """
    if not isinstance(source, Source):
        if isfunction(source):  # the decorator has no parentheses
            msg = (
                f"{declaration} must name its Source in parentheses, as in @view(orders); "
                f"{source.__name__!r} names none"
            )
        else:
            msg = (
                f"{declaration} must be on a Source, not on {source!r}; "
                "pass the variable that holds it"
            )
        raise DeclarationError(msg)
    if sort_begins is not None and (source.sort_key is None or source.sort_key.type != "S"):
        msg = (
            f"{declaration} on {source.name!r} has sort_begins={sort_begins!r}, "
            "but the source has no text sort key"
        )
        raise DeclarationError(msg)
    for name, value in (where or {}).items():
        if isinstance(value, list | tuple | set | frozenset):
            msg = (
                f"{declaration} on {source.name!r}: where has a list for {name!r}, but takes one "
                f"value; write when=lambda item: item.get({name!r}) in (…)"
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
    assert source.sort_key is not None  # `item_filter` has checked it
    name = source.sort_key.name
    return lambda item: item[name].startswith(prefix)


def _attributes_equal(expected: dict[str, Any]) -> Predicate:
    encoded = {name: encode(value) for name, value in expected.items()}
    return lambda item: all(item.has(name, value) for name, value in encoded.items())
