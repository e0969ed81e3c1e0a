"""`adminview preview`: what one item becomes, without an engine."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from adminview.aws.error_hints import describe_error
from adminview.checks.read_sample import read_sample
from adminview.cli.main import app as command
from adminview.model import Registry
from adminview.model.errors import AdminViewError, RowError, SettingsError, ViewError
from adminview.testing import rows_of
from adminview.views import registry
from tests.support.written_app import WrittenApp, written_app

PETS = """
    from adminview import AccessPattern, Index, Row, Source, Total, key, number, view

    pets = Source("Pets", partition_key="shelter", sort_key="id")
    by_age = Index("ByAge", partition="kind", sort=number("age"), include=["data"], shards=2)
    kinds = Total("Kinds", partition="shelter", sort="kind", sums=["weight"])
    ages = Total("Ages", epoch=2, epoch_was=1)
    pets_by_age = AccessPattern("pets-by-age", index=by_age, partition="{kind}")


    @view(pets)
    def pet(item):
        indexes = [by_age(item["kind"], item["age"])] if "age" in item else []
        yield Row(
            key("PET", item["id"]), "DETAILS", data=item.pick("id", "kind", "tags"),
            indexes=indexes,
            totals=[kinds(item["shelter"], item["kind"], weight=int(item["weight"])), ages()],
        )


    @view(pets, where={"kind": "dog"})
    def walk(item):
        for day in item.get("walks") or []:
            yield Row(key("PET", item["id"]), key("WALK", day))


    @view(pets, when=lambda item: "buried" in item)
    def grave(item):
        yield Row(key("PET", item["id"]), "GRAVE")
"""
DOG: dict[str, Any] = {
    "shelter": "north#1",
    "id": "p-1",
    "kind": "dog",
    "age": 3,
    "weight": 12,
    "walks": ["mon", "tue"],
}
TYPED = {
    "shelter": {"S": "north#1"},
    "id": {"S": "p-1"},
    "kind": {"S": "dog"},
    "age": {"N": "3"},
    "weight": {"N": "12"},
    "walks": {"L": [{"S": "mon"}, {"S": "tue"}]},
}


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WrittenApp]:
    monkeypatch.setenv("COLUMNS", "200")
    with written_app(tmp_path, monkeypatch) as app:
        app.write("views/pets.py", PETS)
        yield app


def preview(item: Any, *words: str) -> Result:
    text = item if isinstance(item, str) else json.dumps(item)
    return CliRunner().invoke(command, ["preview", "Pets", "-", *words], input=text)


def failure(item: Any) -> str:
    result = preview(item)
    assert isinstance(result.exception, AdminViewError)
    return describe_error(result.exception)


def test_rows_index_entries_totals_and_views_are_printed_as_json(app: WrittenApp) -> None:
    result = preview(DOG, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "item": "Pets/north#1/p-1",
        "views": [
            {
                "view": "pet",
                "declaredAt": app.line("views/pets.py", "def pet"),
                "rows": [
                    {
                        "PK": "PET#p-1",
                        "SK": "DETAILS",
                        "data": {"id": "p-1", "kind": "dog"},
                        "indexes": {"ByAge": {"kind": "dog", "age": 3}},
                        "totals": [
                            {
                                "total": "Kinds",
                                "shelter": "north#1",
                                "kind": "dog",
                                "count": 1,
                                "weight": 12,
                            },
                            {"total": "Ages", "count": 1},
                        ],
                    }
                ],
            },
            {
                "view": "walk",
                "declaredAt": app.line("views/pets.py", "def walk"),
                "rows": [
                    {"PK": "PET#p-1", "SK": f"WALK#{day}", "data": {}, "indexes": {}, "totals": []}
                    for day in ("mon", "tue")
                ],
            },
        ],
    }


def test_the_same_is_printed_for_people(app: WrittenApp) -> None:
    printed = [" ".join(line.split()) for line in preview(DOG).stdout.splitlines()]
    for line in (
        "Pets/north#1/p-1",
        f"view pet: 1 row ({app.line('views/pets.py', 'def pet')})",
        f"view walk: 2 rows ({app.line('views/pets.py', 'def walk')})",
        "PK SK id kind",
        "PET#p-1 DETAILS p-1 dog",
        "PET#p-1 WALK#mon",
        "ByAge kind: dog age: 3 PET#p-1 DETAILS",
        "Kinds shelter: north#1 kind: dog count: 1 weight: 12 PET#p-1 DETAILS",
        "Ages count: 1 PET#p-1 DETAILS",
    ):
        assert line in printed


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize("item", [TYPED, {"Item": TYPED}, [TYPED], {"Items": [DOG], "Count": 1}])
def test_dynamodb_json_and_what_the_aws_command_prints_are_read_alike(item: Any) -> None:
    assert preview(item).stdout == preview(DOG).stdout


@pytest.mark.usefixtures("app")
def test_the_rows_are_those_of_rows_of() -> None:
    views = json.loads(preview(DOG, "--json").stdout)["views"]
    rows = [(row["PK"], row["SK"]) for view in views for row in view["rows"]]
    model = registry()
    assert rows == [(row["PK"], row["SK"]) for row in rows_of(model.source("Pets"), DOG)]


@pytest.mark.usefixtures("app")
def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "dog.json").write_text(json.dumps(DOG))
    (tmp_path / "dog").write_text(json.dumps(TYPED))
    for file in ("dog.json", "dog"):
        result = CliRunner().invoke(command, ["preview", "Pets", file])
        assert result.stdout == preview(DOG).stdout


def test_an_item_without_a_view_has_no_rows(app: WrittenApp) -> None:
    views = (app.folder / "views" / "pets.py").read_text()
    app.write("views/pets.py", views.replace("@view(pets)\n", '@view(pets, sort_begins="p-")\n'))
    result = preview({"shelter": "north", "id": "x-1"})
    assert result.exit_code == 0
    assert "No view applies to this item, so it has no rows. Views: pet, walk, grave" in (
        result.stdout
    )
    assert json.loads(preview({"shelter": "north", "id": "x-1"}, "--json").stdout)["views"] == []


def test_an_error_of_a_view_has_its_text_and_line(app: WrittenApp) -> None:
    result = preview(DOG | {"weight": "heavy"})
    assert result.exit_code == 1
    assert isinstance(result.exception, ViewError)
    line = app.line("views/pets.py", "totals=[").rpartition(":")[2]
    assert describe_error(result.exception) == (
        "the view raised ValueError: invalid literal for int() with base 10: 'heavy'; "
        f"view 'pet' at {app.name}.views.pets:{line}"
    )


@pytest.mark.usefixtures("app")
def test_two_views_that_derive_the_same_row_fail() -> None:
    item = DOG | {"buried": True, "walks": ["x"]}
    assert preview(item).exit_code == 0
    model = registry()
    twice = Registry(**{**vars(model), "views": (*model.views, model.views[0])})
    with pytest.raises(RowError, match="the same PK and SK, from two views; give one"):
        rows_of(model.source("Pets"), item, twice)


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ("{", "not JSON: Expecting property name"),
        ("[]", "expected an item or a list of items in JSON"),
        ([DOG, DOG], "- has 2 items: preview takes one"),
        ({"id": "p-1"}, "key attribute 'shelter' of source 'Pets' must be text, but is missing"),
        (TYPED | {"age": {"N": 3}}, "attribute 'age' has a value that does not match its Dynamo"),
        (TYPED | {"age": {"N": "many"}}, "attribute 'age' has a value that does not match its"),
        (TYPED | {"walks": {"L": ["mon"]}}, "attribute 'walks' has a value that does not match"),
        (TYPED | {"b": {"B": "%"}}, "attribute 'b' has a value that does not match its DynamoDB"),
        (TYPED | {"b": {"SS": []}}, "attribute 'b' has a value that does not match its DynamoDB"),
        (TYPED | {"b": {"M": {"c": {"BOOL": 1}}}}, "attribute 'b' has a value that does not"),
        (TYPED | {"b": {"NULL": False}}, "attribute 'b' has a value that does not match its Dyn"),
    ],
)
def test_an_item_that_cannot_be_read_is_a_usage_error(item: Any, reason: str) -> None:
    assert failure(item).startswith(reason)
    assert preview(item).exception.__class__.__name__ == "UsageError"


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize("text", ["{", "[]", '{"age": {"N": "many"}}'])
def test_a_file_whose_item_cannot_be_read_is_named(text: str, tmp_path: Path) -> None:
    file = tmp_path / "broken.json"
    file.write_text(text)
    result = CliRunner().invoke(command, ["preview", "Pets", str(file)])
    assert isinstance(result.exception, AdminViewError)
    assert describe_error(result.exception).startswith(f"{file}: ")


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON: Expecting property name"),
        ("[]", 'expected an object with a source and an item, as in {"source": "Orders", "item"'),
        ({"source": "Pets"}, "expected an object with a source and an item"),
        ({"source": "Cats", "item": DOG}, "no source is named 'Cats'; declared are Pets"),
        ({"source": "Pets", "item": {}}, "item must be an object"),
        (
            {"source": "Pets", "item": {"id": "p"}},
            "key attribute 'shelter' of source 'Pets' must be text",
        ),
        ({"source": "Pets", "item": DOG | {"n": 10**40 + 1}}, "attribute 'n': a number has 41"),
    ],
)
def test_a_line_of_a_sample_that_cannot_be_read_is_named(
    line: Any, reason: str, tmp_path: Path
) -> None:
    text = line if isinstance(line, str) else json.dumps(line)
    good = json.dumps({"source": "Pets", "item": DOG})
    (tmp_path / "sample.jsonl").write_text(f"{good}\n\n{text}\n")
    with pytest.raises(SettingsError) as raised:
        read_sample(["sample.jsonl"], registry())
    assert str(raised.value).startswith(f"sample.jsonl:3: {reason}")


@pytest.mark.usefixtures("app")
def test_a_sample_may_have_items_in_either_form(tmp_path: Path) -> None:
    lines = [json.dumps({"source": "Pets", "item": item}) for item in (DOG, TYPED)]
    (tmp_path / "sample.jsonl").write_text("\n".join(lines))
    first, second = read_sample(["sample.jsonl"], registry())
    assert first == second
    assert first.image == TYPED
