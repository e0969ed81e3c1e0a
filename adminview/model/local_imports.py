"""What view files import: modules of the app, which a bundle needs, and foreign packages."""

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec, resolve_name
from pathlib import Path

from adminview.model.fingerprint import parse
from adminview.model.places import INSTALLED

LIBRARY = "adminview"


@dataclass(frozen=True, slots=True)
class ForeignImport:
    """The first import of a package in a file."""

    file: Path
    line: int
    package: str


def foreign_imports(files: Mapping[str, Path]) -> Iterator[ForeignImport]:
    """Yield imports of packages that belong neither to Python, nor to this library, nor to the app.

    *files* maps module names to files; the local modules that they import are searched too.
    Imports under TYPE_CHECKING do not count: they are never executed.
    """
    texts = {name: file.read_text(encoding="utf-8") for name, file in files.items()}
    for file in sorted({*files.values(), *local_modules(texts).values()}):
        lines: dict[str, int] = {}
        for node in _executed(parse(file.read_text(encoding="utf-8"))):
            for package in _packages(node):
                if _is_foreign(package):
                    lines.setdefault(package, node.lineno)
        yield from (ForeignImport(file, line, package) for package, line in lines.items())


def local_modules(code: Mapping[str, str]) -> dict[str, Path]:
    """Return the files of the local modules that *code* imports, directly or indirectly.

    *code* maps module names to texts. A module is local if it belongs neither to Python, nor to
    this library, nor to an installed package. The result includes parent packages. This executes
    the `__init__` files of parent packages, and no other code.
    """
    files: dict[str, Path] = {}
    to_read = [(name, text, False) for name, text in code.items()]
    while to_read:
        name, text, is_package = to_read.pop()
        package = name if is_package else name.rpartition(".")[0]
        names = {*_imported(text, package), package}
        for module in sorted(part for name in names for part in _with_parents(name)):
            if module in files or module in code or (file := _local_file(module)) is None:
                continue
            files[module] = file
            to_read.append((module, file.read_text(encoding="utf-8"), file.name == "__init__.py"))
    return files


def _imported(text: str, package: str) -> Iterator[str]:
    """Yield the imports of a text: of `from a import b` both `a` and `a.b`."""
    for node in ast.walk(parse(text)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            relative = "." * node.level + (node.module or "")
            base = resolve_name(relative, package) if node.level else relative
            yield base
            yield from (f"{base}.{name.name}" for name in node.names)


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1) if name)


def _local_file(name: str) -> Path | None:
    top = name.partition(".")[0]
    if top == LIBRARY or top in sys.stdlib_module_names:
        return None
    try:
        spec = find_spec(name)
    except (ImportError, AttributeError, ValueError):
        return None  # a name within a module, or an import that fails anyway
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    file = Path(spec.origin)
    return None if INSTALLED & {*file.parts} else file


def _executed(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield all statements except those under TYPE_CHECKING, in the order of the file."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test).split("."):
            children = child.orelse
        else:
            children = [child] if isinstance(child, ast.stmt) else []
        for statement in children:
            yield statement
            yield from _executed(statement)
        if not isinstance(child, ast.stmt):  # the cases of a match, the handlers of a try
            yield from _executed(child)


def _packages(node: ast.stmt) -> list[str]:
    """Return the top-level packages that a statement imports by an absolute name."""
    if isinstance(node, ast.Import):
        return [name.name.partition(".")[0] for name in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level and node.module:
        return [node.module.partition(".")[0]]
    return []


def _is_foreign(package: str) -> bool:
    if package == LIBRARY or package in sys.stdlib_module_names:
        return False
    try:
        spec = find_spec(package)
    except (ImportError, AttributeError, ValueError):
        return True
    if spec is None:
        return True
    places = [spec.origin] if spec.origin else [*(spec.submodule_search_locations or ())]
    return not places or any(INSTALLED & {*Path(str(place)).parts} for place in places)
