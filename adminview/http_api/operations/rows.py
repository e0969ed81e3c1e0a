"""Where a row comes from, whether it still matches its source, and what it is related to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from time import time
from typing import Any, Final

from adminview.aws.deadline import Deadline
from adminview.http_api.handlers import is_valid_key
from adminview.http_api.openapi import KEY_PARAMETERS
from adminview.http_api.operations.links import joined_rows, links, scalar
from adminview.http_api.operations.moments import moment
from adminview.http_api.operations.router import Operation, OperationGroup, Reply, Request
from adminview.http_api.operations.schemas import PROVENANCE
from adminview.http_api.problems import ProblemError
from adminview.http_api.render import Renderer
from adminview.model import Registry
from adminview.model.attribute import PK, SK
from adminview.model.places import shown
from adminview.model.row import OWNER, RECONCILED, RowKey
from adminview.model.view import View
from adminview.reconcile.explain import Explanation, Verdict, advice, explain
from adminview.reconcile.item_ref import ItemRef
from adminview.reconcile.reconciler import Reconciler
from adminview.sync.decode import Route
from adminview.totals.comparison import describe_contributions

SECONDS: Final = 30.0
MOST_RELATED: Final = 100
NO_ROW: Final = "there is no row with this key"
REPAIRABLE: Final = (Verdict.DIFFERENT, Verdict.ORPHANED)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Explains rows; reads the view and the sources."""

    registry: Registry
    routes: Mapping[str, Route]
    reconciler: Reconciler
    renderer: Renderer
    now: Callable[[], float] = time

    def group(self) -> OperationGroup:
        operations = [
            Operation(
                method="GET",
                path="/explain",
                id="explainRow",
                summary="Where a row comes from, and whether it matches its source now",
                handle=self.explain,
                response="Explanation",
                parameters=KEY_PARAMETERS,
            ),
            Operation(
                method="GET",
                path="/related",
                id="listRelated",
                summary="Other rows of its partition and item, joined rows, queries with its keys",
                handle=self.related,
                response="Related",
                parameters=KEY_PARAMETERS,
            ),
        ]
        return OperationGroup("provenance", operations, PROVENANCE)

    def explain(self, request: Request) -> Reply:
        key = read_key(request.parameters(PK.name, SK.name))
        explanation = explain(key, self.routes, self.reconciler, deadline=Deadline.after(SECONDS))
        if explanation is None:
            raise ProblemError(HTTPStatus.NOT_FOUND, NO_ROW)
        return Reply(self._document(key, explanation))

    def related(self, request: Request) -> Reply:
        key = read_key(request.parameters(PK.name, SK.name))
        rows, deadline = self.reconciler.rows, Deadline.after(SECONDS)
        row = rows.read([key], deadline=deadline).get(key)
        if row is None:
            raise ProblemError(HTTPStatus.NOT_FOUND, NO_ROW)
        # One more shows whether there are more, and one may be this row.
        partition = rows.find_in_partition(key[0], limit=MOST_RELATED + 2, deadline=deadline)
        owner = row.get(OWNER, {}).get("S")
        same_item = sorted(rows.find(owner, deadline=deadline)) if owner else []
        return Reply(
            {
                "partition": _others(partition, key),
                "item": {"owner": owner, **_others(same_item, key)},
                "joins": [
                    {"name": name, "pattern": pattern.name, "key": key_members(joined)}
                    for name, pattern, joined in joined_rows(row, self.registry)
                ],
                "links": [link.as_dict() for link in links(row, self.registry)],
            }
        )

    def _document(self, key: RowKey, explanation: Explanation) -> dict[str, Any]:
        render = self.renderer.row
        at, now, current = explanation.changed_at, self.now(), self.registry.fingerprint
        return {
            "key": key_members(key),
            "row": render(explanation.row),
            "expected": render(explanation.expected) if explanation.expected else None,
            "verdict": explanation.verdict.name.lower(),
            "explanation": explanation.verdict.value,
            "difference": list(explanation.difference),
            "item": _item(explanation.target, explanation.item_exists),
            "change": {
                "sequence": explanation.sequence or None,
                "reconciled": explanation.sequence == RECONCILED,
                "time": moment(at),
                "ageSeconds": None if at is None else max(0.0, round(now - at, 3)),
            },
            "view": _view(explanation.view),
            "model": {
                "row": explanation.model or None,
                "current": current,
                "same": explanation.model == current,
            },
            "contributions": describe_contributions(explanation.row, self.registry.totals),
            "repair": None if explanation.verdict is Verdict.EQUAL else advice(explanation),
            "repairable": explanation.target is not None and explanation.verdict in REPAIRABLE,
            "problem": explanation.problem or None,
        }


def read_key(values: Mapping[str, Any]) -> RowKey:
    """Return a row's key; raise a ProblemError if a part is missing or no row can have it."""
    key = values.get(PK.name), values.get(SK.name)
    missing = [name for name, part in zip((PK.name, SK.name), key, strict=True) if not part]
    if missing:
        detail = ", ".join(f"{name} is missing" for name in missing)
        raise ProblemError(HTTPStatus.BAD_REQUEST, detail)
    pk, sk = key
    if not isinstance(pk, str) or not isinstance(sk, str):
        raise ProblemError(HTTPStatus.BAD_REQUEST, f"{PK.name} and {SK.name} must be text")
    if not is_valid_key((pk, sk)):
        raise ProblemError(HTTPStatus.NOT_FOUND, NO_ROW)
    return pk, sk


def key_members(key: RowKey) -> dict[str, str]:
    return dict(zip((PK.name, SK.name), key, strict=True))


def _others(keys: Sequence[RowKey], key: RowKey) -> dict[str, Any]:
    others = [other for other in keys if other != key]
    return {
        "rows": [key_members(other) for other in others[:MOST_RELATED]],
        "more": len(others) > MOST_RELATED,
    }


def _item(target: ItemRef | None, exists: bool | None) -> dict[str, Any] | None:  # noqa: FBT001 - a fact
    if target is None:
        return None
    return {
        "owner": target.owner,
        "source": target.route.source.name,
        "table": target.route.table,
        "key": {name: scalar(value) for name, value in target.key.items()},
        "exists": exists,
    }


def _view(view: View | None) -> dict[str, Any] | None:
    if view is None:
        return None
    code = view.derive.__code__
    return {
        "name": view.name,
        "module": view.module,
        "file": shown(code.co_filename),
        "line": code.co_firstlineno,
    }
