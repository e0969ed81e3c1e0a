"""Checks that need no items: imports, rows and declarations that are lost, and what is unused."""

import ast
import re
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Final

from adminview.checks.finding import Level, ModelFinding
from adminview.model import Registry
from adminview.model.fingerprint import parse
from adminview.model.local_imports import foreign_imports
from adminview.model.places import place, place_of_declaration, shown, source_of
from adminview.model.row import OWNER_INDEX

VIEW_REQUIREMENTS: Final = "requirements.txt"  # packages that views import; next to the handlers
REQUIREMENT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
DECLARATIONS: Final = frozenset({"AccessPattern", "Index", "LocalIndex", "Source", "Total"})
AWS_SDK: Final = frozenset({"boto3", "botocore", "aioboto3", "aiobotocore"})


def static_findings(model: Registry, requirements: Path | None = None) -> list[ModelFinding]:
    """Return impure imports, what is lost, and what no access pattern uses.

    *requirements* is the file that lists the packages of the functions; None if there is none.
    """
    return [
        *_imports(model, requirements),
        *_lost_declarations(model),
        *_lost_rows(model),
        *_unused(model),
    ]


def _lost_declarations(model: Registry) -> Iterator[ModelFinding]:
    """Yield an error for each declaration whose name a later one in the same file takes."""
    for module in model.modules:
        lines: dict[str, int] = {}
        for node in parse(source_of(module)).body:
            if name := _declared(node):
                if name in lines:
                    message = (
                        f"{name} is declared again, so the one in line {lines[name]} is lost; "
                        "rename one of them"
                    )
                    where = place(str(module.__file__), node.lineno)
                    yield ModelFinding(Level.ERROR, "lost-declaration", where, message, name)
                lines[name] = node.lineno


def _declared(node: ast.stmt) -> str:
    """Return the name that a statement gives to a declaration; "" for other statements."""
    match node:
        case ast.FunctionDef(name=name, decorator_list=[ast.Call(func=ast.Name(id="view")), *_]):
            return name
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=called)))
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.Call(func=ast.Name(id=called)))
        ) if called in DECLARATIONS:
            return name
    return ""


def _lost_rows(model: Registry) -> Iterator[ModelFinding]:
    """Yield an error for each line of a view that makes rows and does not yield them."""
    codes = [(view.derive.__code__, view) for view in model.views]
    views = {(code.co_filename, code.co_firstlineno): view for code, view in codes}
    for module in model.modules:
        for node in ast.walk(parse(source_of(module))):
            if not isinstance(node, ast.FunctionDef):
                continue
            first = node.decorator_list[0] if node.decorator_list else node
            if view := views.get((str(module.__file__), first.lineno)):
                for line, words in _lost(node):
                    message = (
                        f"view {view.name!r} {words}, so the row is lost; write `yield Row(…)`"
                    )
                    where = place(str(module.__file__), line)
                    yield ModelFinding(Level.ERROR, "lost-row", where, message, view.name)


def _lost(function: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and a description of each such statement; not of inner functions."""
    for node in ast.iter_child_nodes(function):
        match node:
            case ast.FunctionDef() | ast.Lambda():
                continue
            case ast.Expr(value=ast.Call(func=ast.Name(id="Row"))):
                yield node.lineno, "makes a Row and does nothing with it"
            case ast.Return(value=ast.expr() as value) if _makes_row(value):
                yield node.lineno, "returns a Row"
        yield from _lost(node)


def _makes_row(value: ast.AST) -> bool:
    match value:
        case ast.Yield() | ast.YieldFrom():
            return False  # such a row is yielded
        case ast.Call(func=ast.Name(id="Row")):
            return True
    return any(map(_makes_row, ast.iter_child_nodes(value)))


def _imports(model: Registry, requirements: Path | None) -> Iterator[ModelFinding]:
    files = {
        module.__name__: Path(str(module.__file__))
        for module in model.modules
        if source_of(module)  # tests declare views in modules without a file
    }
    listed: frozenset[str] | None = None
    for foreign in foreign_imports(files):
        if foreign.package in AWS_SDK:
            reason = "a view does no I/O, because it also runs in replays and verifications"
        else:
            if listed is None:
                listed = _listed(requirements)
            if foreign.package in listed:
                continue
            also = f", and packages that {shown(requirements)} lists" if requirements else ""
            reason = (
                "a view file may import the standard library, adminview, modules of the app"
                f"{also or '; the functions have no other packages'}"
            )
        message = f"imports {foreign.package}: {reason}"
        where = place(foreign.file, foreign.line)
        yield ModelFinding(Level.ERROR, "import", where, message, foreign.package)


def _listed(requirements: Path | None) -> frozenset[str]:
    """Return the modules of the packages that a requirements file lists."""
    if requirements is None or not requirements.exists():
        return frozenset()
    lines = requirements.read_text(encoding="utf-8").splitlines()
    matches = [REQUIREMENT.match(line.strip()) for line in lines]
    names = {_normalized(match[0]) for match in matches if match}
    return frozenset(
        module
        for module, distributions in packages_distributions().items()
        if names & {_normalized(name) for name in distributions}
    )


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _unused(model: Registry) -> Iterator[ModelFinding]:
    queried = {
        pattern.index.name for pattern in model.patterns if pattern.index and not pattern.total
    }
    for index in model.indexes:
        if index is not OWNER_INDEX and index.name not in queried:
            message = (
                f"no access pattern uses index {index.name!r}, and each of its entries costs "
                "writes and storage; declare one, or remove the index"
            )
            where = place_of_declaration(index, model.modules)
            yield ModelFinding(Level.WARNING, "unused-index", where, message, index.name)
    totalled = {pattern.total.name for pattern in model.patterns if pattern.total}
    for total in model.totals:
        if total.name not in totalled:
            message = (
                f"no access pattern uses total {total.name!r}, and each contribution costs writes; "
                "declare one, or remove the total"
            )
            where = place_of_declaration(total, model.modules)
            yield ModelFinding(Level.WARNING, "unused-total", where, message, total.name)
