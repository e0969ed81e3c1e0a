"""References to source items: by key, by owner."""

from base64 import b64decode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from adminview.model.errors import RowError, UnreadableRecordError
from adminview.model.item import AttributeValue, number_text
from adminview.model.limits import PARTITION_LIMIT, SORT_LIMIT, size_of
from adminview.model.row import RowKey
from adminview.sync.decode import Route


@dataclass(frozen=True, slots=True)
class ItemRef:
    """An item to reconcile, with the keys of rows it may have left behind."""

    route: Route
    key: Mapping[str, AttributeValue]
    rows: frozenset[RowKey] = frozenset()

    @property
    def owner(self) -> str:
        """Return the owner that the item's rows name."""
        return self.route.source.owner(self.key)


def target_by_key(
    route: Route, key: Mapping[str, AttributeValue], rows: Iterable[RowKey] = ()
) -> ItemRef:
    """Refer to an item by its key; raise an UnreadableRecordError if no item can have it."""
    target = ItemRef(route, route.source.key_of(key), frozenset(rows))
    if not all(map(_can_be_key, target.key.values(), LIMITS)) or not target.owner:
        msg = f"no item of source {route.source.name!r} can have this key"
        raise UnreadableRecordError(msg)
    return target


def target_by_owner(
    routes: Iterable[Route], owner: str, rows: Iterable[RowKey] = ()
) -> ItemRef | None:
    """Refer to the item that an owner names; None if it names none of these routes."""
    name = owner.partition("/")[0]
    route = next((route for route in routes if route.source.name == name), None)
    if route is None:
        return None
    try:
        target = target_by_key(route, route.source.key_from(owner), rows)
    except (ValueError, UnreadableRecordError):
        return None
    return target if target.owner == owner else None  # an item has exactly one owner string


LIMITS = (PARTITION_LIMIT, SORT_LIMIT)  # of a partition key and a sort key


def _can_be_key(value: AttributeValue, limit: int) -> bool:
    """Return whether DynamoDB accepts a value in a key: an invalid one fails the whole call."""
    ((kind, content),) = value.items()
    try:
        if kind == "N":
            number_text(Decimal(content))
        elif kind == "B":
            b64decode(content, validate=True)
        return 0 < size_of(value) <= limit
    except (ArithmeticError, ValueError, RowError):
        return False
