"""The modules of the app that given modules import: what a bundle must hold besides the library."""

import ast
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec, resolve_name
from pathlib import Path

from adminview.model.syntax import parse

LIBRARY = "adminview"
INSTALLED = {"site-packages", "dist-packages"}  # folders of packages that pip installs


def local_modules(code: Mapping[str, str]) -> dict[str, Path]:
    """Find the local modules that *code*, text by module name, imports, with all that they import.

    Local is what belongs neither to Python, nor to this library, nor to an installed package. The
    packages that a module is in are part of it. Nothing is executed but these packages' files.
    """
    found: dict[str, Path] = {}
    to_read = [(name, text, False) for name, text in code.items()]
    while to_read:
        name, text, is_package = to_read.pop()
        package = name if is_package else name.rpartition(".")[0]
        names = {*_imported(text, package), package}
        for one in sorted(part for name in names for part in _with_parents(name)):
            if one in found or one in code or (file := _local_file(one)) is None:
                continue
            found[one] = file
            to_read.append((one, file.read_text(encoding="utf-8"), file.name == "__init__.py"))
    return found


def _imported(text: str, package: str) -> Iterator[str]:
    """List what a text imports; of `from a import b` both `a` and `a.b`, which may be a module."""
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
        return None  # a name within a module, or what an import would fail on by itself
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    file = Path(spec.origin)
    return None if INSTALLED & {*file.parts} else file
