"""`adminview check`: mistakes in view files, each with its file and line."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from adminview.aws.settings import ITEMS_FILE
from adminview.cli.main import app as command
from adminview.examples.shop.sample_data import FIRST_DAY
from adminview.testing import local_view, rows_of
from adminview.views import registry
from tests.support.checked_app import HEAD, PET, check, sample
from tests.support.written_app import WrittenApp, written_app


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WrittenApp]:
    with written_app(tmp_path, monkeypatch) as app:
        yield app


def test_sound_view_files_have_no_findings(app: WrittenApp) -> None:
    app.write("views/pets.py", HEAD + PET)
    assert check() == (
        0,
        ["0 errors, 0 warnings", "Rows were not checked: name a file of items with --items-file."],
    )
    assert check(*sample({"id": "p-1"})) == (0, ["0 errors, 0 warnings; 1 item checked"])


def test_every_file_that_cannot_be_loaded_is_reported_with_its_line(app: WrittenApp) -> None:
    app.write("views/cats.py", f"{HEAD}\nx = by_vacine\n")
    app.write("views/dogs.py", "from {app}.views.cats import x\n")  # fails in the same place
    app.write("views/pets.py", f"{HEAD}x = (\n")
    app.write("migrations/ages.py", "import no_such_module\n")
    status, lines = check()
    assert status == 1
    assert lines == [
        (
            f"{app.name}/views/cats.py:5: error: view file {app.name}.views.cats cannot be loaded: "
            "NameError: name 'by_vacine' is not defined"
        ),
        (
            f"{app.name}/views/pets.py:4: error: view file {app.name}.views.pets cannot be loaded: "
            "SyntaxError: '(' was never closed"
        ),
        (
            f"{app.name}/migrations/ages.py:1: error: migration file {app.name}.migrations.ages "
            "cannot be loaded: ModuleNotFoundError: No module named 'no_such_module'"
        ),
        "3 errors, 0 warnings",
    ]


def test_a_contradiction_is_reported_with_its_line(app: WrittenApp) -> None:
    app.write("views/pets.py", HEAD)
    status, lines = check()
    assert status == 1
    assert lines[0] == (
        f"{app.name}/views/pets.py:3: error: source 'Pets' has no view; add one, or remove the "
        "source"
    )


def test_an_app_with_migrations_may_have_patterns_on_keys_of_several_attributes(
    app: WrittenApp,
) -> None:
    app.write("migrations/__init__.py", "")
    declared = """
by_kind = Index("ByKind", partition=["kind", "colour"], sort=["age"])
of_kind = AccessPattern(
    "of-kind", index=by_kind, partition=["{kind}", "{colour}"], sort={"age": "{age}"}, shows=()
)
"""
    app.write("views/pets.py", HEAD + declared + PET)
    assert check()[0] == 0


def test_a_missing_package_is_an_error_but_an_app_may_have_no_migrations(
    app: WrittenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.write("views/pets.py", HEAD + PET)
    monkeypatch.setenv("ADMINVIEW_MIGRATIONS", "no_such_package")
    assert check()[0] == 0
    monkeypatch.setenv("ADMINVIEW_VIEWS", "no_such_package")
    status, lines = check()
    assert status == 1
    assert lines[0].startswith("the view files: error: there is no package no_such_package for ")


def test_findings_are_printed_as_json(app: WrittenApp) -> None:
    app.write("views/pets.py", f'import rich\n{HEAD}{PET}by_age = Index("ByAge", partition="age")')
    result = CliRunner().invoke(command, ["check", "--json"])
    assert result.exit_code == 1
    printed = json.loads(result.stdout)
    assert printed["status"] == 1
    first, second = printed["findings"]
    file = f"{app.name}/views/pets.py"
    assert first.pop("message").startswith("imports rich: ")
    assert first == {"level": "error", "rule": "import", "name": "rich", "file": file, "line": 1}
    assert second.pop("message").startswith("no access pattern uses index 'ByAge', ")
    assert second == {
        "level": "warning",
        "rule": "unused-index",
        "name": "ByAge",
        "file": file,
        "line": 10,
    }


def test_imports_of_other_packages_are_errors_wherever_they_are(app: WrittenApp) -> None:
    app.write("__init__.py", "import rich\n")
    app.write("money.py", "def cents(x):\n    import yaml\n    return x\n")
    more = """
    import typing
    from typing import TYPE_CHECKING
    from decimal import Decimal
    from {app} import money
    from ..money import cents
    from botocore.exceptions import ClientError

    if TYPE_CHECKING:
        from mypy_boto3_dynamodb import DynamoDBClient
    if typing.TYPE_CHECKING:
        import hypothesis
    else:
        import rich.table
    try:
        import no_such_module
    except ImportError:
        pass
    """
    app.write("views/pets.py", HEAD + PET)
    app.write("views/more.py", more)
    status, lines = check()
    assert status == 1
    assert [line.partition(": a view")[0] for line in lines] == [
        f"{app.name}/__init__.py:1: error: imports rich",
        f"{app.name}/money.py:2: error: imports yaml",
        f"{app.name}/views/more.py:7: error: imports botocore",
        f"{app.name}/views/more.py:14: error: imports rich",
        f"{app.name}/views/more.py:16: error: imports no_such_module",
        "5 errors, 0 warnings",
    ]
    assert lines[1].endswith(
        "imports yaml: a view file may import the standard library, adminview, modules of the app, "
        f"and packages that {app.name}/requirements.txt lists"
    )
    assert lines[2].endswith(
        "a view does no I/O, because it also runs in replays and verifications"
    )


def test_packages_that_the_functions_have_may_be_imported_but_never_the_sdk(
    app: WrittenApp,
) -> None:
    app.write("views/pets.py", f"import boto3\nimport rich\nimport yaml\n{HEAD}{PET}")
    app.write("requirements.txt", "# ours\nPyYAML==6.0\nboto3==1\n-r other.txt\n")
    status, lines = check()
    assert status == 1
    assert [line.partition(": ")[2].partition(":")[0] for line in lines[:2]] == ["error", "error"]
    assert "pets.py:1: error: imports boto3: " in lines[0]
    assert "pets.py:2: error: imports rich: " in lines[1]
    assert lines[2] == "2 errors, 0 warnings"


LOST = """

@view(pets)
def pet(item):
    if "born" not in item:
        return  # no row is meant
    for name in item["names"]:
        Row(item["id"], name)
    if "died" in item:
        return [Row(item["id"], "DIED")]
    rows = [(lambda: Row(item["id"], "BORN"))()]
    yield from rows
"""


def test_rows_that_a_view_makes_and_does_not_yield_are_errors(app: WrittenApp) -> None:
    app.write("views/pets.py", HEAD + LOST)
    status, lines = check()
    assert (status, lines[:2]) == (
        1,
        [
            (
                f"{app.line('views/pets.py', text)}: error: view 'pet' {words}, so the row is "
                "lost; write `yield Row(…)`"
            )
            for text, words in (
                ('Row(item["id"], name)', "makes a Row and does nothing with it"),
                ("return [Row", "returns a Row"),
            )
        ],
    )
    assert lines[2] == "2 errors, 0 warnings"


@pytest.mark.parametrize(
    "text",
    [
        """
class Labels:
    def pet(self, item):
        return Row(item["id"], "LABEL")

@view(pets)
def pet(item):
    yield Labels().pet(item)
""",
        """
def single(function):
    def pet(item):
        yield function(item)
    return pet

@view(pets)
@single
def pet(item):
    return Row(item["id"], "LABEL")
""",
        """
@view(pets)
def pet(item):
    if "died" in item:
        return (yield Row(item["id"], "DIED"))
    return (yield from (Row(item["id"], name) for name in item["names"]))
""",
    ],
    ids=["a method with a view's name", "a function that a decorator wraps", "a yield"],
)
def test_a_row_that_is_made_elsewhere_or_yielded_is_not_lost(app: WrittenApp, text: str) -> None:
    app.write("views/pets.py", HEAD + text)
    assert check()[1][0] == "0 errors, 0 warnings"


def test_a_lost_row_is_found_in_each_of_two_views_with_one_name(app: WrittenApp) -> None:
    for name in ("cats", "pets"):
        app.write(f"views/{name}.py", HEAD.replace("Pets", name) + LOST)
    status, lines = check()
    assert (status, lines[-1]) == (1, "4 errors, 0 warnings")


TWICE = """

@view(pets)
def pet(item):
    yield Row(item["id"], "BORN")


of_kind = AccessPattern("of-kind", partition="KIND#{kind}")
of_kind = AccessPattern("of-age", partition="AGE#{age}")
numbers = list("abc")
numbers = list("abc")
"""


def test_declarations_that_others_replace_are_errors(app: WrittenApp) -> None:
    app.write("views/pets.py", HEAD + PET + TWICE)
    status, lines = check()
    view, pattern = (
        app.line("views/pets.py", text)
        for text in ("pet(item):\n    yield Row(item[", 'of_kind = AccessPattern("of-age')
    )
    first_pattern = app.line("views/pets.py", "of_kind =").rpartition(":")[2]
    text = "is declared again, so the one in line"
    assert status == 1
    assert lines == [
        f"{view}: error: pet {text} 7 is lost; rename one of them",
        f"{pattern}: error: of_kind {text} {first_pattern} is lost; rename one of them",
        "2 errors, 0 warnings",
    ]


def test_indexes_and_totals_that_no_pattern_uses_are_warnings(app: WrittenApp) -> None:
    text = """
by_age = Index("ByAge", partition="age")
ranking = Index("Ranking", partition="name")
kinds = Total("Kinds", sort="kind", ranked_by="count")
ages = Total("Ages")
kinds_ranked = AccessPattern("kinds-ranked", total=kinds, ranked=True)
"""
    app.write("views/pets.py", HEAD + PET + text)
    status, lines = check()
    assert status == 0
    assert lines == [
        (
            f"{app.name}/views/pets.py:10: warning: no access pattern uses index 'ByAge', and each "
            "of its entries costs writes and storage; declare one, or remove the index"
        ),
        (
            f"{app.name}/views/pets.py:11: warning: no access pattern uses index 'Ranking', and "
            "each of its entries costs writes and storage; declare one, or remove the index"
        ),
        (
            f"{app.name}/views/pets.py:13: warning: no access pattern uses total 'Ages', and each "
            "contribution costs writes; declare one, or remove the total"
        ),
        "0 errors, 3 warnings",
        "Rows were not checked: name a file of items with --items-file.",
    ]


def test_what_a_view_prints_does_not_disturb_the_check(app: WrittenApp) -> None:
    app.write("views/pets.py", f"print('loaded')\n{HEAD}{PET}    print('derived')\n")
    result = subprocess.run(
        [sys.executable, "-m", "adminview", "check", *sample({"id": "p-1"})],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout.splitlines() == ["loaded", "0 errors, 0 warnings; 1 item checked"]


def test_a_process_that_dies_is_reported(app: WrittenApp) -> None:
    app.write("views/pets.py", f"import os\n{HEAD}{PET}    os._exit(3)\n")
    result = CliRunner().invoke(command, ["check", *sample({"id": "p-1"})])
    assert result.exit_code == 1
    assert "the rows of the sample cannot be derived" in str(result.exception)


@pytest.mark.usefixtures("app")
def test_an_empty_sample_is_a_usage_error(app: WrittenApp) -> None:
    app.write("views/pets.py", HEAD + PET)
    result = CliRunner().invoke(command, ["check", *sample()])
    assert str(result.exception) == "sample.jsonl: no items"


def test_the_items_of_an_apps_tests_are_a_sample(
    app: WrittenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.write("views/pets.py", HEAD + PET)
    pets = registry().source("Pets")
    rows_of(pets, {"id": "unrecorded"})
    monkeypatch.setenv(ITEMS_FILE, "sample.jsonl")
    rows_of(pets, {"id": "p-1"})
    rows_of(pets, {"id": "of another model"}, registry())
    with local_view() as view:
        view.put(pets, {"id": "p-2", "tags": {"a"}})
    lines = [json.loads(line) for line in Path("sample.jsonl").read_text().splitlines()]
    assert lines == [
        {"source": "Pets", "item": {"id": {"S": "p-1"}}},
        {"source": "Pets", "item": {"id": {"S": "p-2"}, "tags": {"SS": ["a"]}}},
    ]
    assert check("--items-file", "sample.jsonl") == (0, ["0 errors, 0 warnings; 2 items checked"])


def test_only_a_newline_ends_a_line_of_a_file_of_items(app: WrittenApp) -> None:
    app.write("views/pets.py", HEAD + PET)
    entry = {"source": "Pets", "item": {"id": "p-1", "about": "one\u2028two\x85three"}}
    line = json.dumps(entry, ensure_ascii=False)
    Path("sample.jsonl").write_bytes(f"{line}\r\n{line}\n".encode())
    assert check("--items-file", "sample.jsonl") == (0, ["0 errors, 0 warnings; 2 items checked"])


def test_an_item_that_fails_in_a_test_is_not_recorded(
    app: WrittenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.write("views/pets.py", HEAD + PET.replace('item.pick("id")', '{"age": item["age"]}'))
    monkeypatch.setenv(ITEMS_FILE, "sample.jsonl")
    with local_view() as view:
        view.put(registry().source("Pets"), {"id": "p-1"})
        assert len(view.dead_letters()) == 1
    assert not Path("sample.jsonl").exists()


@pytest.mark.shop
def test_the_shop_has_no_findings(tmp_path: Path) -> None:
    file = tmp_path / "shop.jsonl"
    lines = [json.dumps(vars_of(write), default=float) for write in FIRST_DAY]
    file.write_text("\n".join(lines))
    assert check("--items-file", str(file)) == (0, ["0 errors, 0 warnings; 16 items checked"])


def vars_of(write: Any) -> dict[str, Any]:
    return {"source": write.source, "item": write.item}
