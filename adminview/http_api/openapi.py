"""The registry -> an OpenAPI 3.1 document, with a path of its own for each question.

Written here rather than by Powertools, whose generator brings pydantic into the bundle and cannot
know the questions: they are data, not functions.
"""

from collections.abc import Sequence
from typing import Any, Final

from adminview.http_api import paths
from adminview.http_api.problems import BEING_BUILT
from adminview.http_api.problems import TYPE as PROBLEM
from adminview.http_api.request import CURSOR, LIMIT, ORDER, VALUE_LIMIT
from adminview.http_api.schemas import COMPONENTS, Schema, count, page, reference
from adminview.model import AccessPattern, Registry
from adminview.model.attribute import PK, SK
from adminview.model.limits import PARTITION_LIMIT, SORT_LIMIT
from adminview.query.cursor import LENGTH_LIMIT as CURSOR_LIMIT
from adminview.query.engine import MOST, PAGE

ABOUT: Final = (
    "Questions to AdminViewTable, as the view files declare them. Every request is authorized, by "
    "IAM (Signature Version 4, service execute-api) or by a JWT as the deployment says; only "
    "`adminview serve` asks for nothing. What the gateway itself refuses (no authorization, too "
    "many requests, no such route) it tells in its own form, not as a problem. An answer holds at "
    "most 6 MB: a page ends where the next row would not fit, so look at the cursor, not at the "
    "number of rows, to see whether there is more."
)
TYPED: Final[dict[str, Schema]] = {
    "S": {"type": "string", "minLength": 1, "maxLength": VALUE_LIMIT},
    "N": {"type": "number"},
    "B": {"type": "string", "format": "byte", "minLength": 1, "maxLength": VALUE_LIMIT},
}
PAGING: Final = (
    (LIMIT, {"type": "integer", "minimum": 1, "maximum": MOST, "default": PAGE}, "Rows at most."),
    (
        CURSOR,
        {"type": "string", "minLength": 1, "maxLength": CURSOR_LIMIT},
        "From the page before; opaque, and of this very question.",
    ),
)
KEY: Final = ((PK.name, PARTITION_LIMIT), (SK.name, SORT_LIMIT))  # bytes
ROW_PATH: Final = "/rows/{PK}/{SK}"
SLASHES: Final = (
    "A key is percent-encoded. One that holds a slash can be read in several ways, for gateways "
    "decode the path: `/rows?PK=…&SK=…` says exactly which is meant."
)


def document(registry: Registry, model: str) -> dict[str, Any]:
    """Describe the whole API; its version is the fingerprint of the model."""
    questions = sorted(registry.patterns, key=lambda one: one.name)
    found = {
        paths.PATTERNS: _get("list-patterns", "The questions, with their parameters", "Catalogue"),
    }
    for pattern in questions:
        at = paths.QUESTION.format(name=pattern.name)
        found[at] = _question(pattern)
        found[f"{at}/count"] = _count(pattern)
    where = [_parameter(name, "query", _key(most), required=True) for name, most in KEY]
    found[paths.ROW_BY_QUERY] = _get(
        "row-by-query", "One row, by its key", "RowWithProvenance", where
    )
    where = [_parameter(name, "path", _key(most), required=True) for name, most in KEY]
    found[ROW_PATH] = _get("row", "One row, by its key", "RowWithProvenance", where, SLASHES)
    found[paths.HEALTH] = _get("health", "Whether the streams are read", "Health")
    found[paths.OPENAPI] = _get("openapi", "This document", {"type": "object"})
    return {
        "openapi": "3.1.0",
        "info": {"title": "AdminView", "version": model, "description": ABOUT},
        "paths": {at: {"get": operation} for at, operation in found.items()},
        "components": {"schemas": COMPONENTS},
    }


def _question(pattern: AccessPattern) -> dict[str, Any]:
    usual = "desc" if pattern.descending else "asc"
    order = {"type": "string", "enum": ["asc", "desc"], "default": usual}
    paging = [_parameter(name, "query", schema, about) for name, schema, about in PAGING]
    asked = [*_asked(pattern), *paging, _parameter(ORDER, "query", order, "Of the sort keys.")]
    described = _get(f"ask.{pattern.name}", pattern.about or pattern.name, page(pattern), asked)
    return _may_be_built(described)


def _count(pattern: AccessPattern) -> dict[str, Any]:
    summary = f"How many: {pattern.about or pattern.name}"
    return _may_be_built(_get(f"count.{pattern.name}", summary, count(pattern), _asked(pattern)))


def _may_be_built(described: dict[str, Any]) -> dict[str, Any]:
    """Add the answer to a question that is being built, or asked while the view is busy."""
    later = {"schema": {"type": "integer", "minimum": 1}, "description": "Seconds to wait."}
    described["responses"]["503"] = {
        "description": f"Not now: the question is {BEING_BUILT} (so the title), or the view busy",
        "headers": {"Retry-After": later},
        "content": {PROBLEM: {"schema": reference("Problem")}},
    }
    return described


def _asked(pattern: AccessPattern) -> list[dict[str, Any]]:
    return [
        _parameter(name, "query", TYPED[type_], required=name in pattern.required)
        for name, type_ in pattern.parameters.items()
    ]


def _get(
    id_: str,
    summary: str,
    answer: str | Schema,
    asked: Sequence[dict[str, Any]] = (),
    description: str = "",
) -> dict[str, Any]:
    schema = reference(answer) if isinstance(answer, str) else answer
    problem = {PROBLEM: {"schema": reference("Problem")}}
    return {
        "operationId": id_,
        "summary": summary,
        **({"description": description} if description else {}),
        "parameters": [*asked],
        "responses": {
            "200": {"description": "OK", "content": {"application/json": {"schema": schema}}},
            "400": {"description": "The request is wrong; detail says how", "content": problem},
            "default": {"description": "Why there is no answer", "content": problem},
        },
    }


def _parameter(
    name: str, where: str, schema: Schema, about: str = "", *, required: bool = False
) -> dict[str, Any]:
    described = {"description": about} if about else {}
    return {"name": name, "in": where, "required": required, "schema": schema, **described}


def _key(most: int) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": most}
