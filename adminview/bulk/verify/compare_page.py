"""Compare a page with cheap reads: count what is equal, and name candidates for a recheck."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from adminview.bulk.verify.differences import Difference, digest, failing
from adminview.bulk.verify.scope import VerifyPhase
from adminview.model.errors import RecordError
from adminview.model.item import Image
from adminview.model.row import OWNER, Attributes, RowKey, key_of
from adminview.reconcile.equality import equivalent_rows
from adminview.reconcile.expected_rows import expected_rows
from adminview.reconcile.item_ref import ItemRef, target_by_owner
from adminview.sync.decode import Route


@dataclass(frozen=True, slots=True)
class Candidate:
    """An item, or rows of one, that may differ from the view."""

    phase: VerifyPhase
    source: str
    owner: str  # empty for a row without an owner
    rows: frozenset[RowKey]  # of the view; none in the items phase
    digest: str  # of the item at the last check
    weight: int  # how many scanned items or rows it stands for
    looks: int = 1

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"phase": self.phase.value, "rows": sorted(map(list, self.rows))}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Candidate":
        rows = frozenset((pk, sk) for pk, sk in data["rows"])
        return cls(**{**data, "phase": VerifyPhase(data["phase"]), "rows": rows})


@dataclass(slots=True)
class PageComparison:
    """The result of comparing a page."""

    counts: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    candidates: list[Candidate] = field(default_factory=list)
    failures: list[Difference] = field(default_factory=list)  # final without a recheck


@dataclass(frozen=True, slots=True)
class Claim:
    """An item with the rows it should have; None if its views raise."""

    owner: str
    item: Image
    rows: Mapping[RowKey, Attributes] | None


def claim(route: Route, item: Image, at: float, model: str) -> Claim:
    """Derive an item's rows. Raises a RecordError only if its key is too long for an owner."""
    owner = route.source.owner(item)
    try:
        return Claim(owner, item, expected_rows(route, owner, item, at, model))
    except RecordError:
        return Claim(owner, item, None)


def claims(
    route: Route, items: Iterable[Image], at: float, model: str, comparison: PageComparison
) -> list[Claim]:
    """Derive the rows of many items; add those whose key is too long to the failures."""
    derived = []
    name = route.source.name
    for item in items:
        try:
            derived.append(claim(route, item, at, model))
        except RecordError as error:
            # The key is too long to show: a digest identifies the item.
            comparison.failures.append(failing(error, name, f"{name}/?{digest(item)[:16]}"))
            comparison.counts[name]["differing"] += 1
    return derived


def compare_items(
    source: str,
    claims: Iterable[Claim],
    current: Mapping[RowKey, Attributes],
    comparison: PageComparison,
) -> None:
    """Compare the derived rows of items with the rows in the view."""
    for entry in claims:
        if entry.rows is None or any(
            key not in current or not equivalent_rows(current[key], row)
            for key, row in entry.rows.items()
        ):
            phase, rows = VerifyPhase.ITEMS, frozenset[RowKey]()
            candidate = Candidate(phase, source, entry.owner, rows, digest(entry.item), weight=1)
            comparison.candidates.append(candidate)
        else:
            comparison.counts[source]["equal"] += 1


def by_owner(rows: Iterable[Attributes]) -> dict[str, set[RowKey]]:
    """Group rows by owner; rows without one are under the empty string."""
    groups: defaultdict[str, set[RowKey]] = defaultdict(set)
    for row in rows:
        groups[row.get(OWNER, {}).get("S", "")].add(key_of(row))
    return dict(groups)


def compare_rows(
    target: ItemRef,
    claims: Mapping[str, Claim],
    rows: Collection[RowKey],
    comparison: PageComparison,
) -> None:
    """Compare the rows of one owner with those that its item derives."""
    source = target.route.source.name
    comparison.counts[source]["rows"] += len(rows)
    item_claim = claims.get(target.owner)
    derived = {} if item_claim is None else item_claim.rows
    differing = frozenset(rows if derived is None else set(rows) - derived.keys())
    comparison.counts[source]["equal"] += len(rows) - len(differing)
    if differing:
        item_digest = digest(item_claim.item if item_claim else None)
        comparison.candidates.append(
            Candidate(
                VerifyPhase.ROWS,
                source,
                target.owner,
                differing,
                item_digest,
                weight=len(differing),
            )
        )


def suspect_rows(
    source: str, owner: str, rows: Collection[RowKey], comparison: PageComparison
) -> None:
    """Queue rows whose owner names no item of a declared source; ownerless rows one by one."""
    comparison.counts[source]["rows"] += len(rows)
    shares: Sequence[Collection[RowKey]] = [rows] if owner else [[row] for row in sorted(rows)]
    comparison.candidates += [
        Candidate(VerifyPhase.ROWS, source, owner, frozenset(share), "", weight=len(share))
        for share in shares
    ]


def target_of(
    routes: Mapping[str, Route], owner: str, rows: Iterable[RowKey] = ()
) -> ItemRef | None:
    """Return the item that an owner names; None if it names none of a declared source."""
    return target_by_owner(routes.values(), owner, rows)
