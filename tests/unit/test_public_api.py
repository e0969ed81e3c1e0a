"""The public API is one list, and docs/api.md describes it."""

import re
from pathlib import Path

import adminview
from adminview import model

ROOT = Path(__file__).parents[2]


def test_the_public_names_are_those_of_the_model_and_can_be_imported() -> None:
    assert adminview.__all__ is model.__all__
    assert [name for name in adminview.__all__ if not hasattr(adminview, name)] == []


def test_the_page_on_the_api_names_every_public_name_once_and_no_other() -> None:
    page = (ROOT / "docs/api.md").read_text()
    rows = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(adminview.__all__)
