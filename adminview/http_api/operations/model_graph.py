"""The model as a graph: sources, views, the table, indexes, access patterns and totals.

Which indexes and totals a view writes to is read from its code: the names that it and the app's
functions that it calls refer to.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, Final, TypeAlias

from adminview.http_api.operations.router import Operation, OperationGroup, Reply, Request
from adminview.http_api.operations.schemas import MAYBE_BOOLEAN
from adminview.http_api.schemas import MAYBE_TEXT, TEXT, Schema, list_of, one_of, shape
from adminview.model import AccessPattern, Index, Registry, Source, Total
from adminview.model.places import is_app_file, place, place_of_declaration
from adminview.model.row import OWNER_INDEX, VIEW_TABLE
from adminview.model.view import View

Node: TypeAlias = dict[str, Any]
TABLE: Final = "table:view"
VIEW: Final[Node] = {
    "id": TABLE,
    "kind": "table",
    "name": VIEW_TABLE,
    "about": "",
    "place": None,
    "detail": {},
}


@dataclass(frozen=True, slots=True)
class ModelHistory:
    """The recorded changes of the model, the newest first."""

    locked: bool | None  # whether the lock file describes this model; None if there is none
    changes: Sequence[Mapping[str, Any]]


def model_group(registry: Registry, history: Callable[[], ModelHistory]) -> OperationGroup:
    """Return the operation that describes the model."""

    def handle(request: Request) -> Reply:
        request.parameters()
        recorded = history()
        return Reply(
            {
                "fingerprint": registry.fingerprint,
                "locked": recorded.locked,
                "nodes": [*_nodes(registry)],
                "edges": [*_edges(registry)],
                "changes": [dict(change) for change in recorded.changes],
            }
        )

    operation = Operation(
        method="GET",
        path="/model",
        id="getModel",
        summary="Sources, views, indexes, access patterns and totals as a graph, and its changes",
        handle=handle,
        response="ModelGraph",
    )
    return OperationGroup("model", [operation], MODEL)


def _nodes(registry: Registry) -> Iterator[Node]:
    for source in registry.sources:
        keys = [key.name for key in source.key]
        yield _node(source, _declared(source, registry), "", {"key": keys})
    for view in registry.views:
        code = view.derive.__code__
        where = place(code.co_filename, code.co_firstlineno)
        about = (view.derive.__doc__ or "").strip().partition("\n")[0]
        yield _node(view, where, about, {"source": view.source.name, "module": view.module})
    yield VIEW
    for index in registry.indexes:
        if index is not OWNER_INDEX:
            shape = index.shape()
            detail = {
                "partition": [name for name, _ in shape["partition"]],
                "sort": [name for name, _ in shape["sort"]],
                "include": list(index.include),
                "local": index.local,
            }
            yield _node(index, _declared(index, registry), "", detail)
    for total in registry.totals:
        detail = {
            "group": [attribute.name for attribute in total.group],
            "sums": [sum_.name for sum_ in total.sums],
            "rankedBy": total.ranked_by or None,
        }
        yield _node(total, _declared(total, registry), "", detail)
    for pattern in registry.patterns:
        conditions = [line for (line,) in pattern.shape()["conditions"]]
        joins = [join.name for join in pattern.joins]
        detail = {"conditions": conditions, "joins": joins}
        yield _node(pattern, _declared(pattern, registry), pattern.about, detail)


def _edges(registry: Registry) -> Iterator[dict[str, str]]:
    for view in registry.views:
        yield _edge(_id(view.source), _id(view), "derives")
        yield _edge(_id(view), TABLE, "writes")
        for used in _declarations_used(view, registry):
            yield _edge(_id(view), _id(used), "adds-to" if isinstance(used, Total) else "enters")
    for pattern in registry.patterns:
        origin: Total | Index | None = pattern.total or pattern.index
        yield _edge(_id(origin) if origin else TABLE, _id(pattern), "serves")


def _declarations_used(view: View, registry: Registry) -> list[Index | Total]:
    """Return the indexes and totals that a view's code refers to, in the order of declaration."""
    used: set[int] = set()
    pending, seen = [view.derive], set[int]()
    while pending:
        function = pending.pop()
        if not isinstance(function, FunctionType) or id(function) in seen:
            continue
        seen.add(id(function))
        for name in _names(function.__code__):
            value = function.__globals__.get(name)
            if isinstance(value, Index | Total):
                used.add(id(value))
            elif isinstance(value, FunctionType) and is_app_file(value.__code__.co_filename):
                pending.append(value)
    declared: tuple[Index | Total, ...] = (*registry.indexes, *registry.totals)
    return [declaration for declaration in declared if id(declaration) in used]


def _names(code: CodeType) -> set[str]:
    """Return the names that code refers to, with those of comprehensions and inner functions."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return {*code.co_names}.union(*map(_names, inner))


def _node(
    declaration: Source | View | Index | Total | AccessPattern,
    where: str,
    about: str,
    detail: Mapping[str, Any],
) -> Node:
    return {
        "id": _id(declaration),
        "kind": KINDS[type(declaration)],
        "name": declaration.name,
        "about": about,
        "place": where or None,
        "detail": dict(detail),
    }


def _id(declaration: Source | View | Index | Total | AccessPattern) -> str:
    if isinstance(declaration, View):
        return f"view:{declaration.module}.{declaration.name}"
    return f"{KINDS[type(declaration)]}:{declaration.name}"


KINDS: Final[Mapping[type, str]] = {
    Source: "source",
    View: "view",
    Index: "index",
    Total: "total",
    AccessPattern: "pattern",
}


def _edge(start: str, end: str, kind: str) -> dict[str, str]:
    return {"from": start, "to": end, "kind": kind}


def _declared(declaration: object, registry: Registry) -> str:
    return place_of_declaration(declaration, registry.modules)


MODEL: Final[dict[str, Schema]] = {
    "ModelGraph": shape(
        {
            "fingerprint": TEXT,
            "locked": MAYBE_BOOLEAN,
            "nodes": list_of(
                shape(
                    {
                        "id": TEXT,
                        "kind": one_of(["source", "view", "table", "index", "pattern", "total"]),
                        "name": TEXT,
                        "about": TEXT,
                        "place": MAYBE_TEXT,
                        "detail": {"type": "object"},
                    }
                )
            ),
            "edges": list_of(
                shape(
                    {
                        "from": TEXT,
                        "to": TEXT,
                        "kind": one_of(["derives", "writes", "enters", "serves", "adds-to"]),
                    }
                )
            ),
            "changes": list_of(
                shape({"day": TEXT, "model": TEXT, "reason": TEXT, "lines": list_of(TEXT)})
            ),
        }
    ),
}
