"""The app's modules that view files import: a bundle needs them besides the library."""

import ast
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec, resolve_name
from pathlib import Path

from adminview.model.fingerprint import parse
from adminview.model.places import INSTALLED

LIBRARY = "adminview"


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
