"""A first look at a page: what is plainly equal, and what is to be looked at again."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from adminview.bulk.verify.candidates import Candidate
from adminview.bulk.verify.differences import digest, failing
from adminview.bulk.verify.run import PageComparison
from adminview.bulk.verify.scope import VerifyPhase
from adminview.model.errors import RecordError
from adminview.model.item import Image
from adminview.model.row import OWNER, Attributes, RowKey, key_of
from adminview.reconcile.equality import equivalent_rows
from adminview.reconcile.expected_rows import expected_rows
from adminview.reconcile.item_ref import ItemRef, target_by_owner
from adminview.sync.decode import Route


@dataclass(frozen=True, slots=True)
class Claim:
    """An item, and the rows it should have; None if its views raise."""

    owner: str
    item: Image
    rows: Mapping[RowKey, Attributes] | None


def claim(route: Route, item: Image, at: float, model: str) -> Claim:
    """Derive an item's rows. Raises a RecordError only if the item cannot be an owner."""
    owner = route.source.owner(item)
    try:
        return Claim(owner, item, expected_rows(route, owner, item, at, model))
    except RecordError:
        return Claim(owner, item, None)


def claims(
    route: Route, items: Iterable[Image], at: float, model: str, glance: PageComparison
) -> list[Claim]:
    """Derive the rows of many items; one that cannot be an owner is a failure."""
    made = []
    name = route.source.name
    for item in items:
        try:
            made.append(claim(route, item, at, model))
        except RecordError as error:
            # Its key is too long to show, so another mark tells it apart.
            glance.failures.append(failing(error, name, f"{name}/?{digest(item)[:16]}"))
            glance.counts[name]["differing"] += 1
    return made


def compare_items(
    source: str, claims: Iterable[Claim], found: Mapping[RowKey, Attributes], glance: PageComparison
) -> None:
    """Compare items' rows with those that were found."""
    for one in claims:
        unlike = frozenset(
            key
            for key, row in (one.rows or {}).items()
            if key not in found or not equivalent_rows(found[key], row)
        )
        if one.rows is None or unlike:
            seen = digest(one.item)
            glance.candidates.append(
                Candidate(VerifyPhase.ITEMS, source, one.owner, unlike, seen, weight=1)
            )
        else:
            glance.counts[source]["equal"] += 1


def by_owner(rows: Iterable[Attributes]) -> dict[str, set[RowKey]]:
    """Group rows of the view by the owner that they name; the empty one has those with none."""
    groups: defaultdict[str, set[RowKey]] = defaultdict(set)
    for row in rows:
        groups[row.get(OWNER, {}).get("S", "")].add(key_of(row))
    return dict(groups)


def compare_rows(
    target: ItemRef, claims: Mapping[str, Claim], rows: Collection[RowKey], glance: PageComparison
) -> None:
    """See which rows of one owner its item derives."""
    source = target.route.source.name
    glance.counts[source]["rows"] += len(rows)
    made = claims.get(target.owner)
    derived = {} if made is None else made.rows
    unlike = frozenset(rows if derived is None else set(rows) - derived.keys())
    glance.counts[source]["equal"] += len(rows) - len(unlike)
    if unlike:
        seen = digest(made.item if made else None)
        glance.candidates.append(
            Candidate(VerifyPhase.ROWS, source, target.owner, unlike, seen, weight=len(unlike))
        )


def suspect_rows(source: str, owner: str, rows: Collection[RowKey], glance: PageComparison) -> None:
    """Suspect rows that name no item of a declared source; if none at all, each by itself."""
    glance.counts[source]["rows"] += len(rows)
    shares: Sequence[Collection[RowKey]] = [rows] if owner else [[row] for row in sorted(rows)]
    glance.candidates += [
        Candidate(VerifyPhase.ROWS, source, owner, frozenset(share), "", weight=len(share))
        for share in shares
    ]


def target_of(
    routes: Mapping[str, Route], owner: str, rows: Iterable[RowKey] = ()
) -> ItemRef | None:
    """Find the item that an owner names; None if there can be none."""
    return target_by_owner(routes.values(), owner, rows)
