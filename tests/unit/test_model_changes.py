"""Differences between two models, and nothing else, are changes."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from adminview.cli.model_lock.model_diff import PARTS, ModelDiff
from adminview.cli.model_lock.wording import as_data
from adminview.model import Index, LocalIndex, Registry, number
from adminview.model.fingerprint import imports
from tests.support.model import registry
from tests.support.view_files import load_view_file

Edit = Callable[[dict[str, Any]], None]


def shop() -> dict[str, Any]:
    return deepcopy(registry().description())


def named(model: dict[str, Any], part: str, name: str) -> Any:
    return next(shape for shape in model[part] if shape["name"] == name)


def changed(edit: Edit) -> ModelDiff:
    """Edit a copy of the shop's description, and compare."""
    new = shop()
    edit(new)
    return ModelDiff.between(shop(), new)


def names(change: ModelDiff) -> dict[str, tuple[str, ...]]:
    """Take what a change lists, where it lists anything."""
    data = as_data(change)
    listed = {f"{how}_{part}": entries for part in PARTS for how, entries in data[part].items()}
    listed["rebuilt"] = data["rebuilt"]
    return {name: entries for name, entries in listed.items() if entries}


def test_a_model_does_not_differ_from_itself() -> None:
    change = ModelDiff.between(shop(), registry().description())
    assert change.is_empty
    assert names(change) == {}


def test_where_nothing_is_deployed_everything_is_new() -> None:
    change = ModelDiff.between(None, shop())
    assert not change.is_empty
    assert change.sources.new == change.rebuilt == ("Orders", "Payments", "Products", "Users")
    assert "GSI1" in change.indexes.new
    assert "orders-by-status" in change.patterns.new
    assert "GSI1" not in change.indexes.before
    assert {name.partition("_")[0] for name in names(change)} == {"new", "rebuilt"}


QUESTION = {"name": "q", "index": None}
INDEX = Index("Fresh", partition="x").shape()
SOURCE = {"name": "Carts", "key": [["id", "S"]]}


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda m: m["patterns"].append(QUESTION), {"new_patterns": ("q",)}),
        (lambda m: m["patterns"].pop(0), {"dropped_patterns": ("orders-of-user",)}),
        (
            lambda m: m["patterns"][0].update(descending=True),
            {"changed_patterns": ("orders-of-user",)},
        ),
        (lambda m: m["indexes"].append(INDEX), {"new_indexes": ("Fresh",)}),
        (
            lambda m: m["indexes"].remove(named(m, "indexes", "GSI2")),
            {"dropped_indexes": ("GSI2",)},
        ),
        (
            lambda m: (m["sources"].append(SOURCE), m["code"].update(Carts="1")),
            {"new_sources": ("Carts",), "rebuilt": ("Carts",)},
        ),
        (
            lambda m: m["sources"].remove(named(m, "sources", "Users")),
            {"dropped_sources": ("Users",)},
        ),
        (
            lambda m: named(m, "sources", "Users").update(key=[["id", "S"]]),
            {"changed_sources": ("Users",), "rebuilt": ("Users",)},
        ),
        (lambda m: m["code"].update(Users="other"), {"rebuilt": ("Users",)}),
    ],
)
def test_each_difference_is_listed_and_no_other(edit: Edit, expected: dict[str, Any]) -> None:
    change = changed(edit)
    assert names(change) == expected
    assert not change.is_empty


@pytest.mark.parametrize(
    "edit",
    [
        {"partition": [["other", "S"]]},
        {"partition": [["GSI1_PK", "N"]]},
        {"partition": [["GSI1_PK", "S"], ["GSI1_SK", "S"]], "sort": []},  # the same, divided again
        {"sort": []},
        {"include": ["data", "_seq"]},
        {"include": [], "projection": "ALL"},
        {"local": True},
        {"shards": [4, 0]},  # one more key attribute
    ],
)
def test_an_index_is_changed_if_dynamodb_would_have_to_change_it(edit: dict[str, Any]) -> None:
    change = changed(lambda model: named(model, "indexes", "GSI1").update(edit))
    assert names(change) == {"changed_indexes": ("GSI1",)}
    before, after = change.indexes.before["GSI1"], change.indexes.after["GSI1"]
    assert before
    assert after == before | edit


def sharded(shards: int, shards_were: int = 0) -> dict[str, Any]:
    index = Index("Fresh", partition="x", shards=shards, shards_were=shards_were)
    return shop() | {"indexes": [index.shape()]}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((4, 0), (8, 4), {"resharded_indexes": ("Fresh",)}),
        ((8, 0), (4, 8), {"resharded_indexes": ("Fresh",)}),
        ((4, 0), (1, 4), {"resharded_indexes": ("Fresh",)}),
        ((8, 4), (8, 0), {}),  # the rows were moved before
        ((1, 4), (1, 0), {"changed_indexes": ("Fresh",)}),
        ((1, 0), (4, 0), {"changed_indexes": ("Fresh",)}),
    ],
)
def test_another_number_of_shards_moves_rows_and_leaves_the_index(
    before: tuple[int, int], after: tuple[int, int], expected: dict[str, Any]
) -> None:
    change = ModelDiff.between(sharded(*before), sharded(*after))
    assert names(change) == expected
    assert not change.is_empty


@pytest.mark.parametrize(
    "index",
    [
        *registry().indexes,
        Index("Sharded", partition="a", sort=[number("b"), "c"], shards=4),
        Index("Moving", partition="a", shards=1, shards_were=8, include=["data"]),
        Index("Everything", partition="a", all_because="it is shown whole"),
        LocalIndex("Local", sort="x", include=["data"]),
    ],
    ids=lambda index: index.name,
)
def test_an_index_can_be_made_from_its_description(index: Index) -> None:
    rebuilt = Index.from_shape(index.shape())
    assert rebuilt.shape() == index.shape()
    assert rebuilt.stored_key == index.stored_key
    assert rebuilt.local == index.local


A = """
from adminview import Index, Row, Source, view
things = Source("Things", partition_key="id")
shared = Index("Shared", partition="shelf"{shards})
@view(things)
def thing(item):
    yield Row("A", item["id"])
"""
B = """
from adminview import Row, Source, view
{how}
others = Source("Others", partition_key="id")
@view(others)
def other(item):
    yield Row("B", item["id"])
"""


@pytest.mark.parametrize(
    ("how", "rebuilt"),
    [
        ("", ("Things",)),
        ("from view_file_a import shared", ("Things", "Others")),
        ("import view_file_a", ("Things", "Others")),
    ],
)
def test_a_file_that_imports_another_is_rebuilt_with_it(
    tmp_path: Path, how: str, rebuilt: tuple[str, ...]
) -> None:
    models = []
    for version, shards in enumerate(["", ", shards=4"]):
        folder = tmp_path / str(version)
        folder.mkdir()
        a = load_view_file(folder / "a.py", A.format(shards=shards))
        b = load_view_file(folder / "b.py", B.format(how=how))
        models.append(Registry.of([a, b]).description())
    assert ModelDiff.between(*models).rebuilt == rebuilt


def test_imports_are_found_however_they_are_written() -> None:
    text = "import a.b, c\nfrom d.e import f\ndef late():\n    from g import h\n"
    assert imports(text) == {"a.b", "c", "d.e", "d.e.f", "g", "g.h"}
