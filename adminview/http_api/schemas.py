"""JSON Schemas of the API's responses."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from adminview.http_api.catalogue import HINTS, TYPES
from adminview.http_api.health import BEHIND, HEALTHY, UNKNOWN
from adminview.model import AccessPattern, Registry
from adminview.model.attribute import PK, SK, Attribute
from adminview.model.row import DATA as DATA_MEMBER
from adminview.model.row import OWNER_INDEX, PROVENANCE
from adminview.model.total import AVERAGE, COUNT, Total
from adminview.query.cursor import LENGTH_LIMIT as CURSOR_LIMIT

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
MAYBE_TEXT: Final[Schema] = {"type": ["string", "null"]}
NEXT_CURSOR: Final[Schema] = {"type": ["string", "null"], "maxLength": CURSOR_LIMIT}
DATA: Final[Schema] = {
    "type": "object",
    "description": "The data of the row. A number is text if a double would lose digits; bytes are "
    "base64; sets are sorted lists. A local server keeps the order of the view files.",
    "additionalProperties": True,
}

# As `render.number` writes it.
AMOUNT: Final[Schema] = {
    "type": ["number", "string"],
    "description": "A number, or its text if a double would lose digits.",
}
# Of key attributes, as `render.plain` writes them.
RENDERED: Final[dict[str, Schema]] = {
    "S": TEXT,
    "N": AMOUNT,
    "B": {"type": "string", "format": "byte"},
}


def reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def or_null(name: str) -> Schema:
    return {"anyOf": [reference(name), {"type": "null"}]}


def shape(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """Return an object schema with exactly these members."""
    return {
        "type": "object",
        "properties": required | (optional or {}),
        "required": list(required),
        "additionalProperties": False,
    }


def type_names(patterns: Iterable[str]) -> dict[str, str]:
    """Return a name for types and operations of each access pattern: OrdersByStatus.

    Two that would differ in case only, or not at all, keep the place of their hyphens: A_1 and A1.
    """
    parts = {name: [part.capitalize() for part in name.split("-")] for name in patterns}
    times = Counter("".join(words).lower() for words in parts.values())
    return {
        name: ("" if times["".join(words).lower()] == 1 else "_").join(words)
        for name, words in parts.items()
    }


def pattern_components(pattern: AccessPattern, name: str) -> dict[str, Schema]:
    """Return the schemas of a page, of its rows with their joins, and of a count.

    Each has a name of its own: generators give inline schemas poor ones.
    """
    schemas: dict[str, Schema] = {}

    def named(part: str, schema: Schema) -> Schema:
        schemas[f"{name}{part}"] = schema
        return reference(f"{name}{part}")

    joined = {join.name: or_null("Row") for join in pattern.joins}
    members = {
        **_row(*_typed_parts(pattern, named)),
        "joined": named("Joined", shape(joined)) if joined else reference("Empty"),
    }
    if set(pattern.shows) & set(PROVENANCE):
        members["provenance"] = reference("Provenance")
    constant: Schema = {"const": pattern.name}
    rows = list_of(named("Row", shape(members)))
    named("Page", shape({"pattern": constant, "rows": rows, "cursor": NEXT_CURSOR}))
    named("Count", shape({"pattern": constant, "count": {"type": "integer", "minimum": 0}}))
    return schemas


def _typed_parts(
    pattern: AccessPattern, named: Callable[[str, Schema], Schema]
) -> tuple[Schema, Schema]:
    """Return the schemas of `data` and `index`, as far as the declarations state their types."""
    if pattern.total:
        return named("Total", total_data(pattern.total)), reference("Empty")
    # An older index, which answers while a new one is built, stores at least what is shown.
    data = reference("RowData") if DATA_MEMBER in pattern.shows else or_null("RowData")
    if pattern.index:  # a row in an index has all its key attributes
        return data, named("Index", index_keys(pattern.index.entry_key))
    return data, reference("IndexKeys")


def index_keys(required: Sequence[Attribute], optional: Sequence[Attribute] = ()) -> Schema:
    """Return a schema of key attributes; there may be more, as rows have any number of entries."""
    typed = {attribute.name: RENDERED[attribute.type] for attribute in (*required, *optional)}
    return {
        **shape(typed),
        "required": [attribute.name for attribute in required],
        "additionalProperties": True,
        "description": "The keys of the row in the indexes.",
    }


def total_data(total: Total) -> Schema:
    """Return the schema of one total: its group, the count of rows, sums and averages."""
    members: dict[str, Schema] = {attribute.name: TEXT for attribute in total.group}
    members[COUNT] = {"type": "integer", "minimum": 1, "description": "Number of rows."}
    for sum_ in total.sums:
        members[sum_.name] = AMOUNT
        members[AVERAGE + sum_.name] = AMOUNT
    return shape(members)


def list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def one_of(values: Sequence[str]) -> Schema:
    return {"type": "string", "enum": list(values)}


def _row(data: Schema, index: Schema) -> dict[str, Schema]:
    return {"key": reference("RowKey"), "data": data, "index": index}


ROW: Final = _row(reference("RowData"), reference("IndexKeys"))  # as the table has it
COMPONENTS: Final[dict[str, Schema]] = {
    "RowKey": shape({PK.name: TEXT, SK.name: TEXT}),
    "RowData": DATA,
    "Row": shape(ROW),
    "Empty": {**shape({}), "description": "An object without members."},
    "SortOrder": one_of(["asc", "desc"]),
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
    "RowWithProvenance": shape({**ROW, "provenance": reference("Provenance")}),
    "ParameterType": one_of([*TYPES.values()]),
    "ParameterHint": {
        **one_of([*HINTS]),
        "description": "The kind of time that the parameter's name suggests; any text is valid.",
    },
    "Parameter": shape(
        {
            "name": TEXT,
            "type": reference("ParameterType"),
            "required": {"type": "boolean"},
            "hint": or_null("ParameterHint"),
            "condition": {**TEXT, "description": "The key condition that uses the parameter."},
        }
    ),
    "Pattern": shape(
        {
            "name": TEXT,
            "about": TEXT,
            "parameters": list_of(reference("Parameter")),
            "conditions": list_of(TEXT),
            "shows": list_of(TEXT),
            "joins": list_of(TEXT),
            "total": {
                **MAYBE_TEXT,
                "description": "The total that it returns; null if it returns rows.",
            },
            "ranked": {
                "type": "boolean",
                "description": "Whether totals are sorted by rank.",
            },
            "group": {**list_of(TEXT), "description": "The attributes of a total's group."},
            "sums": {**list_of(TEXT), "description": "The sums of a total."},
            "rankedBy": {**MAYBE_TEXT, "description": "The sum, or count, that orders a ranking."},
            "index": MAYBE_TEXT,
            "order": reference("SortOrder"),
            "consistent": {"type": "boolean"},
            "ready": {
                "type": "boolean",
                "description": "If false, queries are rejected until a backfill is complete.",
            },
        }
    ),
    "Catalogue": shape({"model": TEXT, "patterns": list_of(reference("Pattern"))}),
    "HealthStatus": one_of([HEALTHY, BEHIND, UNKNOWN]),
    "Health": shape(
        {
            "status": reference("HealthStatus"),
            "detail": TEXT,
            "alarms": list_of(TEXT),
        }
    ),
    "Problem": shape(
        {
            "type": {"const": "about:blank"},
            "title": TEXT,
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "detail": TEXT,
        }
    ),
}


def components(registry: Registry) -> dict[str, Schema]:
    """Return the schemas that access patterns share."""
    indexes = [index for index in registry.indexes if index is not OWNER_INDEX]
    keys = [attribute for index in indexes for attribute in index.entry_key]
    return {"IndexKeys": index_keys((), keys), **COMPONENTS}
