"""How the view can differ from its sources, and what a look at one item shows of it."""

from collections.abc import Iterator, Mapping
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
STRANGE = "its owner names no item of a declared source"


class Kind(StrEnum):
    """The ways to differ."""

    MISSING = "missing"
    STALE = "stale"
    ORPHANED = "orphaned"
    TWO_OWNERS = "two-owners"
    FAILING = "failing"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as the source says. It names keys: not for logs."""

    kind: Kind
    source: str
    owner: str  # of the item; empty for a row that names none
    row: RowKey | None
    what: str
    other: str = ""  # the item that the row names instead
    both: bool = False  # that item derives it too, so no repair can please both

    def to_json(self) -> dict[str, Any]:
        """Write it as plain data."""
        return {
            "kind": self.kind.value,
            "source": self.source,
            "owner": self.owner,
            "row": self.row and list(self.row),
            "what": self.what,
            "other": self.other,
            "both": self.both,
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> "Difference":
        """Read it back."""
        row = tuple(given["row"]) if given["row"] else None
        return cls(**{**given, "kind": Kind(given["kind"]), "row": row})


def judge(plan: ReconcilePlan, source: str) -> Iterator[Difference]:
    """Say how an item's rows differ from what they should be."""
    others = plan.claimed_twice
    for key, row in plan.puts.items():
        if key in others:
            what = f"its row names {others[key]}"
            yield Difference(Kind.TWO_OWNERS, source, plan.owner, key, what, others[key])
        elif key in plan.found:
            yield Difference(Kind.STALE, source, plan.owner, key, _unlike(plan.found[key], row))
        else:
            yield Difference(Kind.MISSING, source, plan.owner, key, "it is not in the view")
    why = GONE if plan.item is None else NOT_DERIVED
    for key in sorted(plan.deletes):
        yield Difference(Kind.ORPHANED, source, plan.owner, key, why)


def failing(error: RecordError, source: str, owner: str) -> Difference:
    """Say that an item's views raise: the kind of error and its place, which quote no data."""
    what = f"{kind_of(error)}: {reason_of(error)}"
    return Difference(Kind.FAILING, source, owner, None, what)


def digest(item: Image | None) -> str:
    """Tell two states of an item apart without keeping either."""
    if item is None:
        return ""
    return sha256(dumps(canonical(item), sort_keys=True).encode()).hexdigest()


def views_that_derive(route: Route, item: Image | None, row: RowKey) -> list[str]:
    """Name the views that make a row of an item."""
    return [view.name for view in route.views if row in derive([view], item, room=ROW_LIMIT).rows]


def _unlike(found: Attributes, wanted: Attributes) -> str:
    """Name the attributes in which a row differs."""
    if OWNER not in found:
        return OWNERLESS
    one, other = canonical(content_of(found)), canonical(content_of(wanted))
    names = [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]
    return f"it differs in {', '.join(names)}"
