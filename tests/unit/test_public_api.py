"""The public API is one list, and docs/api.md describes it."""

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import adminview
from adminview import cdk, model
from adminview.cli.commands.init import StartingPoint, _files

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/api.md"
CLIENT: tuple[str, ...] = vars(adminview)["CLIENT"]  # which type checkers need not know
PUBLIC = [*adminview.__all__, *CLIENT]
IMPORT = re.compile(r"^from (adminview[\w.]*) import ([\w, ]+)$", re.MULTILINE)


def test_the_public_names_include_those_of_the_model_and_can_be_imported() -> None:
    assert {*model.__all__} < {*adminview.__all__}
    assert len(PUBLIC) == len({*PUBLIC})
    assert [name for name in PUBLIC if not hasattr(adminview, name)] == []


def test_a_view_file_that_imports_everything_does_not_load_the_client() -> None:
    """Look from another process: this one has everything loaded."""
    program = (
        "import sys; from adminview import *; assert Source and QueryError; "
        "print([m for m in ('boto3', 'adminview.client') if m in sys.modules]); "
        "from adminview import connect; print(connect.__module__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert done.stdout.split() == ["[]", "adminview.client"]


def test_type_checkers_see_the_same_names() -> None:
    stub = ast.parse((ROOT / "adminview/__init__.pyi").read_text())
    (listed,) = (node.value for node in stub.body if isinstance(node, ast.Assign))
    imported = [alias.asname for node in stub.body for alias in getattr(node, "names", [])]
    assert {*CLIENT} == {name for name in imported if name}
    assert sorted([*ast.literal_eval(listed), *model.__all__]) == sorted(adminview.__all__)


def test_the_page_on_the_api_names_every_public_name_once_and_no_other() -> None:
    rows = re.findall(r"^\| (`.*?) \|", PAGE.read_text(), re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(PUBLIC)


def test_the_page_lists_the_arguments_and_their_defaults() -> None:
    (block,) = re.findall(
        r"^## Arguments\n.*?```\n(.*?)```", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    listed = re.sub(r"\n +", " ", block).splitlines()
    assert listed == [signature_of(line.partition("(")[0]) for line in listed]
    assert {line.partition("(")[0] for line in listed} > {"Source", "AccessPattern", "connect"}


def signature_of(name: str) -> str:
    """Write a signature without types; the default of `data` is an empty map."""
    signature = inspect.signature(getattr(adminview, name))
    parameters = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    plain = signature.replace(parameters=parameters, return_annotation=signature.empty)
    return f"{name}{plain}".replace("<factory>", "{}")


def of_an_app() -> dict[str, set[str]]:
    """Return the names of the table of modules in docs/api.md, by module."""
    rows = re.findall(r"^\| `(adminview[\w.]+)` \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    return {module: set(re.findall(r"`(\w+)`", names)) for module, names in rows}


def imported_by_the_app() -> Iterator[tuple[str, str]]:
    """Yield what the generated files import from the library: module and name."""
    files = {file for example in StartingPoint for file, _ in _files(example)}
    for file in sorted(file for file in files if file.suffix == ".py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("adminview"):
                yield from ((str(node.module), alias.name) for alias in node.names)


def imported_by_documents() -> Iterator[tuple[str, str]]:
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for module, names in IMPORT.findall(page.read_text()):
            yield from ((module, name.strip()) for name in names.split(","))


def test_generated_apps_and_documents_import_only_names_that_the_page_lists() -> None:
    documented = of_an_app() | {"adminview": {*PUBLIC}}
    imported = {*imported_by_the_app(), *imported_by_documents()}
    assert ("adminview.handlers", "sync") in imported
    assert ("adminview", "connect") in imported
    unknown = {name for name in imported if name[1] not in documented.get(name[0], set())}
    assert unknown == set()


def test_names_of_modules_in_the_page_can_be_imported_and_those_of_the_cdk_are_all_there() -> None:
    documented = of_an_app()
    assert documented["adminview.cdk"] == {*cdk.__all__}
    for module, names in documented.items():
        for name in names - {"handle"}:
            value = getattr(import_module(module), name, None)
            assert value or import_module(f"{module}.{name}"), (module, name)
    for name in documented["adminview.handlers"] - {"handle"}:
        assert callable(import_module(f"adminview.handlers.{name}").handle)
