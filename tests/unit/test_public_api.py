"""The public API is one list, and docs/api.md describes it."""

import ast
import re
from pathlib import Path

import adminview
from adminview import model

ROOT = Path(__file__).parents[2]


def test_the_public_names_include_those_of_the_model_and_can_be_imported() -> None:
    assert {*model.__all__} < {*adminview.__all__}
    assert len(adminview.__all__) == len({*adminview.__all__})
    assert [name for name in adminview.__all__ if not hasattr(adminview, name)] == []


def test_type_checkers_see_the_same_names() -> None:
    stub = ast.parse((ROOT / "adminview/__init__.pyi").read_text())
    (listed,) = (node.value for node in stub.body if isinstance(node, ast.Assign))
    assert sorted([*ast.literal_eval(listed), *model.__all__]) == sorted(adminview.__all__)


def test_the_page_on_the_api_names_every_public_name_once_and_no_other() -> None:
    page = (ROOT / "docs/api.md").read_text()
    rows = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(adminview.__all__)
