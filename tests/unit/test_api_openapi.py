"""The OpenAPI document: whatever the registry declares is in it, and nothing more."""

import json
import subprocess
import sys

from adminview.http_api.openapi import document
from adminview.http_api.schemas import page
from adminview.model import AccessPattern
from tests.support.model import registry


def test_each_question_has_paths_of_its_own_with_its_parameters() -> None:
    paths = document(registry(), "m")["paths"]
    for pattern in registry().patterns:
        asked = paths[f"/patterns/{pattern.name}"]["get"]["parameters"]
        counted = paths[f"/patterns/{pattern.name}/count"]["get"]["parameters"]
        assert [one["name"] for one in counted] == list(pattern.parameters)
        assert asked[: len(counted)] == counted
        assert [one["name"] for one in asked[len(counted) :]] == ["limit", "cursor", "order"]
        assert [one["required"] for one in counted] == [
            name in pattern.required for name in pattern.parameters
        ]
    others = {"/patterns", "/rows", "/rows/{PK}/{SK}", "/health", "/openapi.json"}
    assert len(paths) == 2 * len(registry().patterns) + len(others)
    assert paths.keys() >= others


def test_an_answer_names_the_rows_that_are_shown_beside_its_rows() -> None:
    rows = page(registry().pattern("buyers-of-product"))["properties"]["rows"]
    assert rows["items"]["properties"]["joined"]["required"] == ["profile"]
    assert "provenance" not in rows["items"]["properties"]


def test_a_question_that_shows_where_rows_come_from_says_so() -> None:
    asked = AccessPattern("x", partition="{x}", shows=["data", "_owner"])
    items = page(asked)["properties"]["rows"]["items"]
    assert "provenance" in items["required"]


def test_operations_are_named_once_and_references_lead_somewhere() -> None:
    described = document(registry(), "m")
    ids = [one["get"]["operationId"] for one in described["paths"].values()]
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
