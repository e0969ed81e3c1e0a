"""The OpenAPI document describes everything that the registry declares, and nothing else."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from adminview.http_api.openapi import document
from adminview.http_api.schemas import pattern_components, reference, type_names
from adminview.model import AccessPattern, Index, LocalIndex, binary, number
from tests.support.model import registry


def test_each_access_pattern_has_paths_of_its_own_with_its_parameters() -> None:
    paths = document(registry(), "m")["paths"]
    for pattern in registry().patterns:
        requested = paths[f"/patterns/{pattern.name}"]["get"]["parameters"]
        counted = paths[f"/patterns/{pattern.name}/count"]["get"]["parameters"]
        assert [parameter["name"] for parameter in counted] == list(pattern.parameters)
        assert requested[: len(counted)] == counted
        assert [parameter["name"] for parameter in requested[len(counted) :]] == [
            "limit",
            "cursor",
            "order",
        ]
        assert [parameter["required"] for parameter in counted] == [
            name in pattern.required for name in pattern.parameters
        ]
    others = {"/patterns", "/rows", "/rows/{PK}/{SK}", "/health", "/openapi.json"}
    assert len(paths) == 2 * len(registry().patterns) + len(others)
    assert paths.keys() >= others


def test_an_answer_names_the_rows_that_are_shown_beside_its_rows() -> None:
    schemas = document(registry(), "m")["components"]["schemas"]
    row = schemas["BuyersOfProductRow"]["properties"]
    assert row["joined"] == reference("BuyersOfProductJoined")
    assert schemas["BuyersOfProductJoined"]["required"] == ["profile"]
    assert "provenance" not in row
    assert schemas["OrdersByStatusRow"]["properties"]["joined"] == reference("Empty")


def test_an_access_pattern_that_shows_where_rows_come_from_declares_it() -> None:
    requested = AccessPattern("x", partition="{x}", shows=["data", "_owner"])
    assert "provenance" in pattern_components(requested, "X")["XRow"]["required"]


def test_data_is_an_object_where_the_pattern_shows_it() -> None:
    keys_only = Index("ByDay", partition="day", sort=number("hour"))
    shown = pattern_components(AccessPattern("a", partition="{x}"), "A")["ARow"]["properties"]
    assert shown["data"] == reference("RowData")
    hidden = pattern_components(
        AccessPattern("b", index=keys_only, partition="{day}", shows=()), "B"
    )
    assert {"type": "null"} in hidden["BRow"]["properties"]["data"]["anyOf"]


def test_the_keys_of_the_queried_index_have_their_declared_types() -> None:
    by_day = Index("ByDay", partition="day", sort=[number("hour"), binary("raw")])
    schemas = pattern_components(AccessPattern("b", index=by_day, partition="{day}", shows=()), "B")
    assert schemas["BIndex"]["required"] == ["day", "hour", "raw"]
    typed = schemas["BIndex"]["properties"]
    assert (typed["day"]["type"], typed["hour"]["type"]) == ("string", ["number", "string"])
    assert typed["raw"]["format"] == "byte"
    local = LocalIndex("ByName", sort="agent")
    requested = AccessPattern("c", index=local, partition="{x}", shows=())
    assert pattern_components(requested, "C")["CIndex"]["required"] == ["agent"]


def test_names_in_generated_clients_are_those_of_the_patterns() -> None:
    described = document(registry(), "m")
    ids = {
        path: operations["get"]["operationId"] for path, operations in described["paths"].items()
    }
    assert ids["/patterns/orders-by-status"] == "queryOrdersByStatus"
    assert ids["/patterns/orders-by-status/count"] == "countOrdersByStatus"
    assert (ids["/rows"], ids["/rows/{PK}/{SK}"]) == ("getRow", "getRowByPath")
    assert all(re.fullmatch(r"[a-z][A-Za-z0-9]*", id_) for id_ in ids.values())
    answer = described["paths"]["/patterns/orders-by-status"]["get"]["responses"]["200"]
    assert answer["content"]["application/json"]["schema"] == reference("OrdersByStatusPage")


def test_patterns_whose_names_differ_only_in_hyphens_have_names_of_their_own() -> None:
    assert type_names(["a-1", "a1", "ab-c", "abc", "orders-of-user"]) == {
        "a-1": "A_1",
        "a1": "A1",
        "ab-c": "Ab_C",
        "abc": "Abc",
        "orders-of-user": "OrdersOfUser",
    }


def inline_shapes(schema: Any, place: str = "") -> Iterator[str]:
    """Yield the places of objects and enumerations below a named schema."""
    if isinstance(schema, dict):
        if place and ("properties" in schema or "enum" in schema):
            yield place
        for name, part in schema.items():
            yield from inline_shapes(part, f"{place}/{name}")


def test_every_object_of_a_response_has_a_name() -> None:
    """Generators call those without one Data1, Data2 and so on."""
    described = document(registry(), "m")
    for name, schema in described["components"]["schemas"].items():
        assert [*inline_shapes(schema)] == [], name


def test_operations_are_named_once_and_references_lead_somewhere() -> None:
    described = document(registry(), "m")
    ids = [operations["get"]["operationId"] for operations in described["paths"].values()]
    assert len(set(ids)) == len(ids)
    text = json.dumps(described)
    named = {piece.split('"')[0] for piece in text.split('"#/components/schemas/')[1:]}
    assert named == described["components"]["schemas"].keys()


def test_the_function_starts_without_what_it_does_not_need() -> None:
    """Look from another process: this one has everything loaded."""
    program = (
        "import sys, adminview.handlers.api; "
        "absent = ('pydantic', 'jsonschema', 'aws_xray_sdk', 'adminview.cli'); "
        "print([m for m in absent if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"
