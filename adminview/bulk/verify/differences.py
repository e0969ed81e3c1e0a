"""How the view can differ from its sources, and the differences of one item."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from json import dumps
from typing import Any

from adminview.model.errors import RecordError, kind_of, reason_of
from adminview.model.item import Image
from adminview.model.limits import ROW_LIMIT
from adminview.model.row import OWNER, Attributes, RowKey
from adminview.reconcile.equality import canonical, content_of
from adminview.reconcile.reconciler import ReconcilePlan
from adminview.sync.decode import Route
from adminview.sync.derive import derive

GONE = "its item does not exist"
NOT_DERIVED = "its item does not derive it"
OWNERLESS = "it has no owner"
UNKNOWN_OWNER = "its owner names no item of a declared source"


class Kind(StrEnum):
    """A kind of difference. The values are also keys of the counts."""

    MISSING = "missing"
    STALE = "stale"
    ORPHANED = "orphaned"
    TWO_OWNERS = "two-owners"
    FAILING = "failing"


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between a row and its source. It names keys: do not log it."""

    kind: Kind
    source: str
    owner: str  # of the item; empty for a row without an owner
    row: RowKey | None
    what: str
    other: str = ""  # the owner that the row names instead
    both: bool = False  # that item derives the row too, so no repair can satisfy both

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind.value,
            "source": self.source,
            "owner": self.owner,
            "row": self.row and list(self.row),
            "what": self.what,
            "other": self.other,
            "both": self.both,
        }


def find_differences(plan: ReconcilePlan, source: str) -> Iterator[Difference]:
    """Yield how an item's rows differ from the expected ones."""
    other_owners = plan.claimed_twice
    for key, row in plan.puts.items():
        if key in other_owners:
            what = f"its row names {other_owners[key]}"
            yield Difference(Kind.TWO_OWNERS, source, plan.owner, key, what, other_owners[key])
        elif key in plan.current:
            yield Difference(Kind.STALE, source, plan.owner, key, _describe(plan.current[key], row))
        else:
            yield Difference(Kind.MISSING, source, plan.owner, key, "it is not in the view")
    why = GONE if plan.item is None else NOT_DERIVED
    for key in sorted(plan.deletes):
        yield Difference(Kind.ORPHANED, source, plan.owner, key, why)


def failing(error: RecordError, source: str, owner: str) -> Difference:
    """Report that an item's views raise, by error kind and reason, without data."""
    what = f"{kind_of(error)}: {reason_of(error)}"
    return Difference(Kind.FAILING, source, owner, None, what)


def digest(item: Image | None) -> str:
    """Hash an item, to detect changes without storing it; empty if it does not exist."""
    if item is None:
        return ""
    return sha256(dumps(canonical(item), sort_keys=True).encode()).hexdigest()


def views_that_derive(route: Route, item: Image | None, row: RowKey) -> list[str]:
    """Name the views that derive a row from an item."""
    return [view.name for view in route.views if row in derive([view], item, room=ROW_LIMIT).rows]


def _describe(actual: Attributes, expected: Attributes) -> str:
    """Describe how a row differs, by the names of attributes."""
    if OWNER not in actual:
        return OWNERLESS
    before, after = canonical(content_of(actual)), canonical(content_of(expected))
    names = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    return f"it differs in {', '.join(names)}"
