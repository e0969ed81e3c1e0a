"""JSON Schemas of the API's responses."""

from collections.abc import Sequence
from typing import Any, Final

from adminview.http_api.catalogue import TYPES
from adminview.model import AccessPattern
from adminview.model.attribute import PK, SK
from adminview.model.row import DATA as DATA_MEMBER
from adminview.model.row import PROVENANCE
from adminview.model.total import AVERAGE, COUNT, Total
from adminview.query.cursor import LENGTH_LIMIT as CURSOR_LIMIT

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
MAYBE_TEXT: Final[Schema] = {"type": ["string", "null"]}
NEXT_CURSOR: Final[Schema] = {"type": ["string", "null"], "maxLength": CURSOR_LIMIT}
DATA: Final[Schema] = {
    "type": ["object", "null"],
    "description": "The data of the row. A number is text if a double would lose digits; bytes are "
    "base64; sets are sorted lists. Null if the index does not project it.",
}

# As `render.number` writes it.
AMOUNT: Final[Schema] = {
    "type": ["number", "string"],
    "description": "A number, or its text if a double would lose digits.",
}


def reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def shape(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """Return an object schema with exactly these members."""
    return {
        "type": "object",
        "properties": required | (optional or {}),
        "required": list(required),
        "additionalProperties": False,
    }


def page(pattern: AccessPattern) -> Schema:
    """Return the schema of a page, with the joins of the access pattern."""
    beside = [reference("Row"), {"type": "null"}]
    members = {
        **ROW["properties"],
        **({DATA_MEMBER: total_data(pattern.total)} if pattern.total else {}),
        "joined": shape({join.name: {"anyOf": beside} for join in pattern.joins}),
    }
    if set(pattern.shows) & set(PROVENANCE):
        members["provenance"] = reference("Provenance")
    rows = {"type": "array", "items": shape(members)}
    return shape({"pattern": {"const": pattern.name}, "rows": rows, "cursor": NEXT_CURSOR})


def total_data(total: Total) -> Schema:
    """Return the schema of one total: its group, the count of rows, sums and averages."""
    members: dict[str, Schema] = {attribute.name: TEXT for attribute in total.group}
    members[COUNT] = {"type": "integer", "minimum": 1, "description": "How many rows are in it."}
    for sum_ in total.sums:
        members[sum_.name] = AMOUNT
        members[AVERAGE + sum_.name] = AMOUNT
    return shape(members)


def count(pattern: AccessPattern) -> Schema:
    return shape({"pattern": {"const": pattern.name}, "count": {"type": "integer", "minimum": 0}})


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _one_of(values: Sequence[str]) -> Schema:
    return {"type": "string", "enum": list(values)}


ROW: Final = shape(
    {
        "key": shape({PK.name: TEXT, SK.name: TEXT}),
        "data": DATA,
        "index": {"type": "object", "description": "The keys of the row in the indexes."},
    }
)
SOURCES: Final[Schema] = {
    "type": "object",
    "additionalProperties": _one_of(["quiet", "read", "unread"]),
}
AGE: Final[Schema] = {"type": ["number", "null"]}
COMPONENTS: Final[dict[str, Schema]] = {
    "Row": ROW,
    "Provenance": shape(
        {
            "owner": {**MAYBE_TEXT, "description": "The source item that the row is derived from."},
            "sequence": {
                **MAYBE_TEXT,
                "description": "The sequence number of the change that wrote the row.",
            },
            "time": {**MAYBE_TEXT, "description": "The time of that change."},
            "model": {
                **MAYBE_TEXT,
                "description": "The fingerprint of the model that wrote the row.",
            },
        }
    ),
    "RowWithProvenance": shape({**ROW["properties"], "provenance": reference("Provenance")}),
    "Pattern": shape(
        {
            "name": TEXT,
            "about": TEXT,
            "parameters": _list(
                shape(
                    {
                        "name": TEXT,
                        "type": _one_of([*TYPES.values()]),
                        "required": {"type": "boolean"},
                    }
                )
            ),
            "shows": _list(TEXT),
            "joins": _list(TEXT),
            "total": {**MAYBE_TEXT, "description": "The total that it reads; null for rows."},
            "ranked": {
                "type": "boolean",
                "description": "Whether totals come in the order of their ranks.",
            },
            "index": MAYBE_TEXT,
            "order": _one_of(["asc", "desc"]),
            "consistent": {"type": "boolean"},
            "beingBuilt": {
                "type": "boolean",
                "description": "Not ready: queries are refused until its backfill is complete.",
            },
        }
    ),
    "Catalogue": shape({"model": TEXT, "patterns": _list(reference("Pattern"))}),
    "Health": shape(
        {
            "status": _one_of(["healthy", "unknown"]),
            "detail": TEXT,
            "sources": SOURCES,
            "ageSeconds": AGE,
        }
    ),
    "Problem": shape(
        {
            "type": {"const": "about:blank"},
            "title": TEXT,
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "detail": TEXT,
        },
        {"sources": SOURCES, "ageSeconds": AGE},
    ),
}
