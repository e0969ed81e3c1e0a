"""Files and lines of declarations and of errors, as in `lambdas/views/orders.py:12`."""

import ast
import inspect
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from traceback import walk_tb
from types import ModuleType

from adminview.model.fingerprint import parse

INSTALLED = {"site-packages", "dist-packages"}  # folders of installed packages
# Code in these is not the app's.
LIBRARY_FOLDER = Path(__file__).parents[1]
PYTHON_FOLDER = Path(os.__file__).parent


def place(file: str | Path, line: int) -> str:
    return f"{shown(file)}:{line}"


def shown(file: str | Path) -> str:
    """Return the path of a file; below the current folder, relative to it."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def place_of_error(error: BaseException) -> str:
    """Return the last line of the app's files that an error passed; empty if it passed none."""
    if isinstance(error, SyntaxError) and error.filename and is_app_file(error.filename):
        return place(error.filename, error.lineno or 1)
    lines = [
        (frame.f_code.co_filename, line)
        for frame, line in walk_tb(error.__traceback__)
        if is_app_file(frame.f_code.co_filename)
    ]
    return place(*lines[-1]) if lines else ""


def place_of_declaration(declaration: object, modules: Iterable[ModuleType]) -> str:
    """Return where a module assigns a declaration to a variable, or else where one imports it.

    Empty if no module with a source file has such a variable.
    """
    imported = ""
    for module in modules:
        names = {name for name, value in vars(module).items() if value is declaration}
        if not names or not (text := source_of(module)):
            continue
        for node, name in _bindings(parse(text)):
            if name in names:
                where = place(str(module.__file__), node.lineno)
                if not isinstance(node, ast.ImportFrom):
                    return where
                imported = imported or where
        imported = imported or place(str(module.__file__), 1)  # bound in an unusual way
    return imported


def source_of(module: ModuleType) -> str:
    """Return the text of a module; empty if it has no file."""
    try:
        return inspect.getsource(module)
    except (OSError, TypeError):
        return ""


def is_app_file(file: str) -> bool:
    """Return whether a file belongs neither to Python, nor to us, nor to an installed package."""
    path = Path(file)
    return (
        not file.startswith("<")
        and not INSTALLED & {*path.parts}
        and not path.is_relative_to(LIBRARY_FOLDER)
        and not path.is_relative_to(PYTHON_FOLDER)
    )


def _bindings(tree: ast.Module) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the statements of a module that bind names, each with a name."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets):
                names = [inner for target in targets for inner in ast.walk(target)]
                yield from ((node, name.id) for name in names if isinstance(name, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield node, name
            case ast.FunctionDef(name=name):
                yield node, name
            case ast.ImportFrom(names=aliases):
                yield from ((node, alias.asname or alias.name) for alias in aliases)
