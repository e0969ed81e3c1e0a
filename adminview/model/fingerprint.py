"""The fingerprint of a model: a hash of its declarations and of the code that derives rows.

Python's own dumps of a syntax tree differ from version to version, and every machine must compute
the same fingerprint. So this module walks the tree itself. It skips what changes no row: comments,
docstrings, descriptions.
"""

import ast
from collections.abc import Iterable, Iterator
from hashlib import sha256
from json import dumps
from threading import Lock
from typing import Any

LENGTH = 12  # hex digits: every row carries them
DESCRIPTIONS = {"about", "all_because"}
# Fields that not every version has, or that do not change the meaning.
LEFT_OUT = {"type_comment", "type_params", "type_ignores", "kind", "ctx"}
# Before 3.11.8 and 3.12.2, threads that parse at the same time may raise a SystemError
# (https://github.com/python/cpython/issues/106905).
PARSING = Lock()


def parse(code: str) -> ast.Module:
    """Parse a file's text; any number of threads may call it."""
    with PARSING:
        return ast.parse(code)


def fingerprint(shape: dict[str, Any], code: Iterable[str]) -> str:
    """Hash a model's shape and the texts of its view files."""
    trees = [list(_walk(parse(text))) for text in code]
    return sha256(dumps([shape, trees]).encode()).hexdigest()[:LENGTH]


def imports(code: str) -> set[str]:
    """List the modules that a view file imports: of `from a import b` both `a` and `a.b`."""
    modules: set[str] = set()
    for node in ast.walk(parse(code)):
        if isinstance(node, ast.Import):
            modules |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return modules


def is_empty(code: str) -> bool:
    """Return whether a file has no code: only comments and docstrings."""
    return all(_is_skipped(node) for node in parse(code).body)


def _walk(node: Any) -> Iterator[str]:
    """Serialize a syntax tree in a form that does not depend on the Python version."""
    if isinstance(node, list):
        yield "["
        for element in node:
            yield from _walk(element)
        yield "]"
    elif not isinstance(node, ast.AST):
        yield f"{type(node).__name__} {node!r}"
    elif not _is_skipped(node):
        yield type(node).__name__
        for name, value in ast.iter_fields(node):
            if name not in LEFT_OUT:
                yield name
                yield from _walk(_joined(value) if isinstance(node, ast.JoinedStr) else value)


def _is_skipped(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg in DESCRIPTIONS
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _joined(pieces: list[ast.expr]) -> list[ast.expr]:
    """Join adjacent text pieces of an f-string: Python versions split them differently."""
    joined: list[ast.expr] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if isinstance(piece, ast.Constant) and isinstance(last, ast.Constant):
            joined[-1] = ast.Constant(str(last.value) + str(piece.value))
        else:
            joined.append(piece)
    return joined
