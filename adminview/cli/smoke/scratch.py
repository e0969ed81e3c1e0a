"""Scratch items: copies of sample items under keys of their own, and variants of them.

All of this is computed from the view files, without AWS. A scratch item never has the key of an
existing item, and its rows never have the keys of existing rows: the mark of the run is in both.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any

from adminview.model.attribute import Attribute
from adminview.model.errors import AdminViewError, RecordError
from adminview.model.limits import ROW_LIMIT
from adminview.model.row import Attributes, RowKey
from adminview.sync.decode import Route
from adminview.sync.derive import derive

Rows = Mapping[RowKey, Attributes]


class ScratchError(AdminViewError):
    """No scratch item can be made of a sample item."""


@dataclass(frozen=True, slots=True)
class ScratchItem:
    """An item that exists only during a check, in DynamoDB JSON."""

    route: Route
    image: Attributes
    rows: Rows  # without provenance
    marks: tuple[str, ...]  # each row has one of these texts in its key

    @property
    def owner(self) -> str:
        return self.route.source.owner(self.image)

    @property
    def key(self) -> Attributes:
        return self.route.source.key_of(self.image)


def scratch_item(route: Route, sample: Attributes, mark: str) -> ScratchItem:
    """Return a sample item under a key with *mark*; raises a ScratchError that says why not."""
    reason = "a view fails if its key is changed"
    for attribute in route.source.key:
        image = {**sample, attribute.name: _marked(attribute, sample[attribute.name], mark)}
        rows = _derived(route, image)
        if rows is None:
            continue
        if not rows:
            reason = "the sample item has no rows"
        else:
            marks = (mark, *map(str, image[attribute.name].values()))
            if _are_marked(rows, marks):
                return ScratchItem(route, image, rows, marks)
            reason = "a row's key does not contain the key of its item"
    raise ScratchError(reason)


def changed_item(item: ScratchItem, samples: Sequence[Attributes]) -> ScratchItem | None:
    """Return a variant whose rows differ, if there is one: best with other row keys.

    *samples* are items of the same source.
    """
    differing = None
    for image in _changes(item, samples):
        rows = _derived(item.route, image)
        if not rows or rows == item.rows or not _are_marked(rows, item.marks):
            continue
        variant = replace(item, image=image, rows=rows)
        if rows.keys() != item.rows.keys():
            return variant
        differing = differing or variant
    return differing


def poison_item(item: ScratchItem) -> Attributes | None:
    """Return a variant for which a view fails; None if there is none."""
    for image in _poisons(item):
        try:
            derive(item.route.views, image, room=ROW_LIMIT)
        except RecordError:
            return image
    return None


def _are_marked(rows: Rows, marks: Sequence[str]) -> bool:
    return all(any(mark in part for mark in marks for part in key) for key in rows)


def _derived(route: Route, image: Attributes) -> Rows | None:
    try:
        return derive(route.views, image, room=ROW_LIMIT).rows
    except RecordError:
        return None


def _marked(attribute: Attribute, value: Mapping[str, Any], mark: str) -> dict[str, Any]:
    digits = str(int(mark.rpartition("-")[2], 16) + 10**12)
    mark_value: Callable[[str], str] = {
        "S": lambda text: f"{text}-{mark}",
        "N": lambda _: digits,
        "B": lambda text: b64encode(b64decode(text) + mark.encode()).decode(),
    }[attribute.type]
    return {attribute.type: mark_value(value[attribute.type])}


def _changes(item: ScratchItem, samples: Sequence[Attributes]) -> Iterator[Attributes]:
    for sample in samples:
        yield {**sample, **item.key}
    for name, value in _rest(item):
        for other in _others(value):
            yield {**item.image, name: other}
        yield _without(item.image, name)


def _poisons(item: ScratchItem) -> Iterator[Attributes]:
    for name, _ in _rest(item):
        yield _without(item.image, name)
        yield {**item.image, name: {"NULL": True}}
        yield {**item.image, name: {"L": [{"NULL": True}]}}
    yield dict(item.key)


def _rest(item: ScratchItem) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in item.image.items() if name not in item.key]


def _without(image: Attributes, name: str) -> Attributes:
    return {other: value for other, value in image.items() if other != name}


def _others(value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield other values of the same type."""
    ((kind, content),) = value.items()
    if kind == "S":
        yield {kind: f"{content}1"}
    elif kind == "N":
        try:
            yield {kind: str(Decimal(content) + 1)}
        except InvalidOperation:
            return
    elif kind == "BOOL":
        yield {kind: not content}
    elif kind == "L" and content:
        yield {kind: content[:-1]}
