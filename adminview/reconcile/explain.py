"""Explain a row: its owner, the change that wrote it, and whether it matches its source."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from enum import StrEnum
from json import dumps
from shlex import quote

from adminview.aws.deadline import Deadline
from adminview.model.errors import RecordError, reason_of
from adminview.model.item import Image
from adminview.model.limits import ROW_LIMIT
from adminview.model.row import CHANGED_AT, MODEL, OWNER, SEQUENCE, Attributes, RowKey
from adminview.model.stream import FAR_FUTURE
from adminview.model.view import View
from adminview.reconcile.equality import canonical, content_of
from adminview.reconcile.item_ref import ItemRef, target_by_owner
from adminview.reconcile.reconciler import ReconcilePlan, Reconciler
from adminview.sync.decode import Route
from adminview.sync.derive import derive


class Verdict(StrEnum):
    """How a row compares with its source. The values are printed."""

    EQUAL = "equal to what the source item derives now"
    DIFFERENT = "different from what the source item derives now"
    ORPHANED = "orphaned: the item it names does not derive it"
    FAILING = "unknown: the view of its item raises"
    UNOWNED = "orphaned: it names no item of a declared source"


@dataclass(frozen=True, slots=True)
class Explanation:
    row: Attributes
    verdict: Verdict
    target: ItemRef | None = None  # the item that the row names
    view: View | None = None  # the view that derives the row now
    others: tuple[RowKey, ...] = ()  # rows of the same item
    difference: tuple[str, ...] = ()  # a unified diff
    problem: str = ""
    expected: Attributes | None = None  # the row that the source derives now
    item_exists: bool | None = None  # None if it is not known

    @property
    def owner(self) -> str:
        return _text(self.row, OWNER)

    @property
    def sequence(self) -> str:
        return _text(self.row, SEQUENCE)

    @property
    def model(self) -> str:
        return _text(self.row, MODEL)

    @property
    def changed_at(self) -> float | None:
        """Return the time of the change that wrote the row, in epoch seconds; None if unknown."""
        try:
            at = float(self.row[CHANGED_AT]["N"])
        except (KeyError, ValueError):
            return None
        return at if 0 <= at < FAR_FUTURE else None


def explain(
    key: RowKey, routes: Mapping[str, Route], reconciler: Reconciler, *, deadline: Deadline
) -> Explanation | None:
    """Find out why a row looks as it does; None if there is no such row."""
    row = reconciler.rows.read([key], deadline=deadline).get(key)
    if row is None:
        return None
    target = target_by_owner(routes.values(), _text(row, OWNER), [key])
    if target is None:
        return Explanation(row, Verdict.UNOWNED)
    others = tuple(sorted(reconciler.rows.find(target.owner, deadline=deadline) - {key}))
    try:
        plan = reconciler.plan(target, deadline=deadline)
    except RecordError as error:
        return Explanation(
            row, Verdict.FAILING, target, others=others, problem=f"{reason_of(error)}"
        )
    return Explanation(
        row=plan.current.get(key, row),
        verdict=_verdict(plan, key),
        target=target,
        view=_view(target.route, plan.item, key),
        others=others,
        difference=tuple(_difference(plan, key)),
        expected=plan.expected.get(key),
        item_exists=plan.item is not None,
    )


def advice(explanation: Explanation) -> str:
    """Return the command that repairs a row, or what else to do."""
    source, *key = explanation.owner.split("/")
    match explanation.verdict:
        case Verdict.EQUAL:
            return "nothing to do"
        case Verdict.FAILING:
            return "fix and deploy the view, or fix the item"
        case Verdict.DIFFERENT if explanation.target:
            values = [
                value for typed in explanation.target.key.values() for value in typed.values()
            ]
            return " ".join(["adminview reconcile", source, *map(quote, values or key)])
        case _:
            return "adminview verify --repair, which also finds the item that should own the row"


def _verdict(plan: ReconcilePlan, key: RowKey) -> Verdict:
    if key not in plan.expected:
        return Verdict.ORPHANED
    return Verdict.DIFFERENT if key in plan.puts else Verdict.EQUAL


def _view(route: Route, item: Image | None, key: RowKey) -> View | None:
    """Return the view that derives a row; None if none does."""
    for view in route.views:
        if key in derive([view], item, room=ROW_LIMIT).rows:
            return view
    return None


def _difference(plan: ReconcilePlan, key: RowKey) -> Iterator[str]:
    """Yield the diff between a wrong row and the expected one."""
    if key not in plan.expected or key in plan.puts:
        actual, expected = _lines(plan.current.get(key)), _lines(plan.expected.get(key))
        yield from unified_diff(
            actual, expected, "the row", "what the source item derives", lineterm="", n=1
        )


def _lines(row: Attributes | None) -> list[str]:
    if row is None:
        return []
    text = dumps(canonical(content_of(row)), indent=1, sort_keys=True, ensure_ascii=False)
    return text.splitlines()


def _text(row: Attributes, name: str) -> str:
    return str(row.get(name, {}).get("S", ""))
