"""Describe the API as OpenAPI 3.1, with a path for each access pattern.

The generator of Powertools needs pydantic in the bundle and cannot see access patterns: they are
data, not functions.
"""

from collections.abc import Sequence
from typing import Any, Final

from adminview.http_api import paths
from adminview.http_api.problems import NOT_READY
from adminview.http_api.problems import TYPE as PROBLEM
from adminview.http_api.request import CURSOR, LIMIT, ORDER, VALUE_LIMIT
from adminview.http_api.schemas import Schema, components, pattern_components, reference, type_names
from adminview.model import AccessPattern, Registry
from adminview.model.attribute import PK, SK
from adminview.model.limits import PARTITION_LIMIT, SORT_LIMIT
from adminview.query.cursor import LENGTH_LIMIT as CURSOR_LIMIT
from adminview.query.engine import MOST, PAGE

ABOUT: Final = (
    "Queries of the access patterns that the view files declare, against AdminViewTable. Every "
    "request is authorized by IAM (Signature Version 4, service execute-api) or by a JWT, as "
    "deployed; only a local server needs no authorization. Errors of the gateway itself (no "
    "authorization, too many requests, no such route) have its own format, not problem+json. A "
    "response has at most 6 MB: a page ends where the next row would not fit, so use the cursor, "
    "not the number of rows, to see whether there is more."
)
TYPED: Final[dict[str, Schema]] = {
    "S": {"type": "string", "minLength": 1, "maxLength": VALUE_LIMIT},
    "N": {"type": "number"},
    "B": {"type": "string", "format": "byte", "minLength": 1, "maxLength": VALUE_LIMIT},
}
PAGING: Final = (
    (
        LIMIT,
        {"type": "integer", "minimum": 1, "maximum": MOST, "default": PAGE},
        "Maximum number of rows.",
    ),
    (
        CURSOR,
        {"type": "string", "minLength": 1, "maxLength": CURSOR_LIMIT},
        "The cursor of the previous page of the same query; opaque.",
    ),
)
KEY: Final = ((PK.name, PARTITION_LIMIT), (SK.name, SORT_LIMIT))  # bytes
ROW_PATH: Final = "/rows/{PK}/{SK}"
ONE_ROW: Final = "One row, by its key"
SLASHES: Final = (
    "Percent-encode the key. A key with a slash is ambiguous, because gateways decode the path: "
    "`/rows?PK=…&SK=…` names the row exactly."
)


def document(registry: Registry, model: str) -> dict[str, Any]:
    """Return the document; its version is the fingerprint of the model.

    Operation ids and schema names become the names of functions and types in generated clients.
    """
    patterns = sorted(registry.patterns, key=lambda pattern: pattern.name)
    names = type_names(pattern.name for pattern in patterns)
    operations = {
        paths.PATTERNS: _get(
            "listPatterns", "The access patterns, with their parameters", "Catalogue"
        ),
    }
    schemas = components(registry)
    for pattern in patterns:
        at, name = paths.PATTERN.format(name=pattern.name), names[pattern.name]
        operations[at] = _query(pattern, name)
        operations[f"{at}/count"] = _count(pattern, name)
        schemas |= pattern_components(pattern, name)
    operations[paths.ROW_BY_QUERY] = _get("getRow", ONE_ROW, "RowWithProvenance", KEY_PARAMETERS)
    where = [parameter(name, "path", _key(most), required=True) for name, most in KEY]
    operations[ROW_PATH] = _get("getRowByPath", ONE_ROW, "RowWithProvenance", where, SLASHES)
    operations[paths.HEALTH] = _get(
        "getHealth", "Whether the sync keeps up with the streams", "Health"
    )
    operations[paths.OPENAPI] = _get("getOpenapi", "This document", {"type": "object"})
    return {
        "openapi": "3.1.0",
        "info": {"title": "AdminView", "version": model, "description": ABOUT},
        "paths": {at: {"get": operation} for at, operation in operations.items()},
        "components": {"schemas": schemas},
    }


def _query(pattern: AccessPattern, name: str) -> dict[str, Any]:
    default_order = "desc" if pattern.descending else "asc"
    order = {**reference("SortOrder"), "default": default_order}
    paging = [parameter(name, "query", schema, about) for name, schema, about in PAGING]
    parameters = [
        *_parameters(pattern),
        *paging,
        parameter(ORDER, "query", order, "Order of the sort keys."),
    ]
    summary = pattern.about or pattern.name
    return _with_not_ready(_get(f"query{name}", summary, f"{name}Page", parameters))


def _count(pattern: AccessPattern, name: str) -> dict[str, Any]:
    summary = f"Number of rows: {pattern.about or pattern.name}"
    return _with_not_ready(_get(f"count{name}", summary, f"{name}Count", _parameters(pattern)))


def _with_not_ready(described: dict[str, Any]) -> dict[str, Any]:
    """Add the response for an access pattern that is not ready, or a busy view."""
    later = {"schema": {"type": "integer", "minimum": 1}, "description": "Seconds to wait."}
    described["responses"]["503"] = {
        "description": f"If the title is {NOT_READY!r}, rows of the access pattern are missing. "
        "Otherwise the view is busy",
        "headers": {"Retry-After": later},
        "content": {PROBLEM: {"schema": reference("Problem")}},
    }
    return described


def _parameters(pattern: AccessPattern) -> list[dict[str, Any]]:
    return [
        parameter(name, "query", TYPED[type_], required=name in pattern.required)
        for name, type_ in pattern.parameters.items()
    ]


def _get(
    id_: str,
    summary: str,
    response: str | Schema,
    parameters: Sequence[dict[str, Any]] = (),
    description: str = "",
) -> dict[str, Any]:
    schema = reference(response) if isinstance(response, str) else response
    problem = {PROBLEM: {"schema": reference("Problem")}}
    return {
        "operationId": id_,
        "summary": summary,
        **({"description": description} if description else {}),
        "parameters": [*parameters],
        "responses": {
            "200": {"description": "OK", "content": {"application/json": {"schema": schema}}},
            "400": {"description": "The request is invalid; see detail", "content": problem},
            "default": {"description": "An error; see detail", "content": problem},
        },
    }


def parameter(
    name: str, where: str, schema: Schema, about: str = "", *, required: bool = False
) -> dict[str, Any]:
    """Return the description of a parameter in a path or a query."""
    described = {"description": about} if about else {}
    return {"name": name, "in": where, "required": required, "schema": schema, **described}


def _key(most: int) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": most}


KEY_PARAMETERS: Final = tuple(
    parameter(name, "query", _key(most), required=True) for name, most in KEY
)
