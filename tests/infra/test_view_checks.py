"""Synthesis runs the checks of `adminview check` that need no items."""

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Annotations, Match

from adminview.cdk import AdminViewTable, DeploymentOptions, Stage
from adminview.model import Registry
from adminview.model.errors import DeclarationError
from tests.support.written_app import WrittenApp, written_app

ROOT = Path(__file__).parents[2]
PETS = """
from adminview import AccessPattern, Index, Row, Source, Total, key, view

pets = Source("Pets", partition_key="id")
by_age = Index("ByAge", partition="age")
ages = Total("Ages")


@view(pets)
def pet(item):
    yield Row(key("PET", item["id"]), "DETAILS")
"""


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WrittenApp]:
    with written_app(tmp_path, monkeypatch) as app:
        yield app


def stack_of(app: WrittenApp, handlers: str = "") -> cdk.Stack:
    views = Registry.of([import_module(f"{app.name}.views.pets")])
    stack = cdk.Stack(cdk.App(), "Stack")
    options = DeploymentOptions(views=views, stage=Stage("dev", retain=False), handlers=handlers)
    AdminViewTable(stack, "View", options=options)
    return stack


def test_what_no_pattern_uses_is_a_warning_of_the_view(app: WrittenApp) -> None:
    app.write("views/pets.py", PETS)
    stack = stack_of(app)
    entries = Annotations.from_stack(stack).find_warning("/Stack/View", Match.any_value())
    texts = sorted(str(entry.entry.data) for entry in entries)
    index, total = (
        f"{app.name}/views/pets.py:{line}: no access pattern uses {name}"
        for line, name in ((5, "index 'ByAge', and"), (6, "total 'Ages', and"))
    )
    assert texts[0].startswith(index)
    assert texts[1].startswith(total)
    assert texts[0].endswith("[ack: adminview:unused-index:ByAge]")
    assert texts[1].endswith("[ack: adminview:unused-total:Ages]")


def test_impure_imports_fail_and_are_all_listed(app: WrittenApp) -> None:
    app.write("keys.py", "import rich\n")
    app.write("views/pets.py", f"from {app.name} import keys\nimport yaml\n{PETS}")
    with pytest.raises(DeclarationError) as raised:
        stack_of(app)
    first, second, third = str(raised.value).splitlines()
    assert first == "the view files have errors:"
    assert second == (
        f"  {app.name}/keys.py:1: error: imports rich: a view file may import the standard "
        "library, adminview, modules of the app; the functions have no other packages"
    )
    assert third.startswith(f"  {app.name}/views/pets.py:2: error: imports yaml: ")


def test_packages_next_to_the_handlers_may_be_imported(app: WrittenApp) -> None:
    app.write("views/pets.py", f"import yaml\n{PETS}")
    app.write("requirements.txt", "pyyaml==6.0\n")
    stack_of(app, handlers=app.name)
    with pytest.raises(DeclarationError, match="imports yaml"):
        stack_of(app)


def test_app_py_prints_the_errors_with_file_and_line(app: WrittenApp) -> None:
    app.write("views/pets.py", f"import yaml\n{PETS}")
    environment = os.environ | {"PYTHONPATH": f"{app.folder.parent}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "app.py")],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 1
    assert "error: the view files have errors:" in done.stderr
    assert f"  {app.name}/views/pets.py:1: error: imports yaml: " in done.stderr

    app.write("views/pets.py", f"{PETS}\nx = by_agee\n")
    done = subprocess.run(
        [sys.executable, str(ROOT / "app.py")],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )
    line = app.line("views/pets.py", "x = by_agee")
    assert done.stderr.strip().endswith(f"NameError: name 'by_agee' is not defined; {line}")
