"""Rules of the code that no linter knows; `lint-imports` checks the layers (pyproject.toml)."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from adminview import model

ROOT = Path(__file__).parents[1]
NOT_DEPLOYED = ("adminview/cdk", "adminview/cli", "adminview/examples", "adminview/local")


def modules(folder: str) -> list[Path]:
    if folder == "deployed":
        return [
            path
            for folder in ("adminview", "lambdas")
            for path in modules(folder)
            if not str(path.relative_to(ROOT)).startswith(NOT_DEPLOYED)
        ]
    return sorted(path for path in (ROOT / folder).rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    """List the dotted names a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports by dots"
            yield from (f"{node.module}.{name.name}" for name in node.names)


def importers(folder: str, *forbidden: str) -> list[str]:
    """Find the imports of *folder* that begin with something forbidden."""
    return [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(folder)
        for name in imports(path)
        if any(name == prefix or name.startswith(f"{prefix}.") for prefix in forbidden)
    ]


def test_the_folders_are_where_these_tests_look() -> None:
    for folder in (*NOT_DEPLOYED, "adminview/aws", "lambdas/views", "infra"):
        assert modules(folder), folder
    assert importers("adminview/aws", "boto3", "botocore")


def test_the_import_contracts_ignore_no_import() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    contracts = settings["contracts"]
    layers = next(contract for contract in contracts if contract.get("containers") == ["adminview"])
    assert layers["exhaustive"]
    assert not settings.get("exclude_type_checking_imports")
    assert not any("ignore" in name for contract in contracts for name in contract)


def test_a_view_file_is_written_in_the_words_of_the_model_alone() -> None:
    files = [*modules("lambdas/views"), *modules("lambdas/migrations")]
    names = [name for path in files for name in imports(path)]
    theirs = [name for name in names if name.partition(".")[0] not in sys.stdlib_module_names]
    public = {f"adminview.{name}" for name in model.__all__}
    strange = [n for n in theirs if n not in public and not n.startswith("lambdas.views.")]
    assert strange == [], "the model's fingerprint would not move with it"


def test_source_tables_are_written_by_migrations_alone() -> None:
    writers = {
        line.partition(" imports ")[0]
        for line in importers("deployed", "adminview.aws.source_updates")
    }
    allowed = tuple(f"adminview/bulk/{name}.py" for name in ("lazy_migration", "migrate", "runs"))
    assert writers
    assert [writer for writer in writers if not writer.startswith(allowed)] == []


def test_commands_check_an_endpoint_before_they_make_a_client() -> None:
    """Hold modules that make boto3 clients to the check, or to being called after it."""
    after = {"adminview/cli/commands/backfill.py"}
    makers = {
        str(path.relative_to(ROOT))
        for path in modules("adminview/cli")
        if "boto3.client(" in (text := path.read_text()) and "check_endpoints(" not in text
    }
    assert makers <= after


def test_commands_print_through_one_module_which_escapes_data() -> None:
    """Find what could print data unescaped, or as markup, anywhere else in cli/."""
    printing = ("typer.echo", "typer.secho", "typer.confirm", "typer.prompt", "typer.style")
    rich = ("rich.console", "rich.markup", "rich.text", "rich.table", "rich.print", "rich.panel")
    findings = [*importers("adminview/cli", *rich, "click", "traceback.print_exc")]
    for path in modules("adminview/cli"):
        for node in ast.walk(ast.parse(path.read_text())):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            named = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
            written = called == "print" or called.endswith((".file.write", "stdout.write"))
            markup = isinstance(node, ast.keyword) and node.arg in {"markup", "emoji"}
            if written or markup or named in {*printing, "sys.stdout", "sys.stderr"}:
                findings.append(f"{path.relative_to(ROOT)} has {ast.unparse(node)}")
    places = {finding.partition(" ")[0] for finding in findings}
    assert places == {"adminview/cli/output/printing.py"}, findings


def test_nothing_reads_the_environment_or_makes_a_client_when_it_is_imported() -> None:
    """Look for such calls outside of functions, in everything that is deployed."""
    at_import = []
    for path in modules("deployed"):
        for statement in ast.parse(path.read_text()).body:
            if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr):
                text = ast.unparse(statement)
                if "os.environ" in text or "boto3.client" in text or "getenv" in text:
                    at_import.append(f"{path.relative_to(ROOT)}: {text}")
    assert at_import == []


VIEW_FILES = [
    *modules("lambdas/views"),
    *(ROOT / "examples").glob("*.py"),
    *(ROOT / "examples/evolution").glob("crm_*.py"),
    ROOT / "bench/model.py",
]


def test_view_files_join_the_parts_of_a_key_with_key_and_not_with_f_strings() -> None:
    """A part with a separator in it could make an f-string the key of another row."""
    glued = [
        f"{path.relative_to(ROOT)}: {ast.unparse(node)}"
        for path in VIEW_FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.JoinedStr)
        and any(isinstance(part, ast.Constant) and "#" in str(part.value) for part in node.values)
    ]
    assert len(VIEW_FILES) > 20
    assert glued == []


@pytest.mark.parametrize("folder", ["adminview", "lambdas", "infra", "examples", "tests"])
def test_modules_stay_short(folder: str) -> None:
    limit = 450 if folder == "tests" else 400
    long = {
        str(path.relative_to(ROOT)): lines
        for path in modules(folder)
        if (lines := len(path.read_text().splitlines())) > limit
    }
    assert long == {}


def test_functions_stay_short() -> None:
    """Count the lines of each function without its docstring."""
    long = {}
    for folder in ("adminview", "lambdas", "infra", "examples"):
        for path in modules(folder):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef) and node.end_lineno:
                    first = (
                        node.body[1] if ast.get_docstring(node) and node.body[1:] else node.body[0]
                    )
                    if (lines := node.end_lineno - first.lineno + 1) > 50:
                        long[f"{path.relative_to(ROOT)}:{node.name}"] = lines
    assert long == {}


def test_every_folder_of_lambdas_is_library_and_every_file_a_function() -> None:
    files = [path for path in (ROOT / "lambdas").glob("*.py") if path.name != "__init__.py"]
    assert files
    for path in files:
        names = [n.name for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef)]
        assert "handler" in names, path.name
