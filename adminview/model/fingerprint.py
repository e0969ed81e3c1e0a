"""The fingerprint of a model: what is declared, and the code that derives rows from it.

Python's own ways to write a syntax tree down differ from version to version, and a fingerprint that
is made on a laptop must be the one that a build machine makes. So the tree is walked here, and what
changes no row is left out: comments, docstrings, descriptions.
"""

import ast
from collections.abc import Iterable, Iterator
from hashlib import sha256
from json import dumps
from typing import Any

from adminview.model.syntax import parse

LENGTH = 12  # hex digits: every row carries them
DESCRIPTIONS = {"about", "all_because"}
# Not in every version, or not a matter of meaning.
LEFT_OUT = {"type_comment", "type_params", "type_ignores", "kind", "ctx"}


def fingerprint(shape: dict[str, Any], code: Iterable[str]) -> str:
    """Identify a model by its shape and its view files."""
    trees = [list(_walk(parse(text))) for text in code]
    return sha256(dumps([shape, trees]).encode()).hexdigest()[:LENGTH]


def imports(code: str) -> set[str]:
    """List the modules that a view file may use: each name that it imports, and what that is of."""
    found: set[str] = set()
    for node in ast.walk(parse(code)):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return found


def is_empty(code: str) -> bool:
    """Tell whether a file holds no code: only comments, and texts such as a docstring."""
    return all(_says_nothing(node) for node in parse(code).body)


def _walk(node: Any) -> Iterator[str]:
    """Write a syntax tree down, in an order and a form of our own."""
    if isinstance(node, list):
        yield "["
        for element in node:
            yield from _walk(element)
        yield "]"
    elif not isinstance(node, ast.AST):
        yield f"{type(node).__name__} {node!r}"
    elif not _says_nothing(node):
        yield type(node).__name__
        for name, value in ast.iter_fields(node):
            if name not in LEFT_OUT:
                yield name
                yield from _walk(_joined(value) if isinstance(node, ast.JoinedStr) else value)


def _says_nothing(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg in DESCRIPTIONS
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _joined(pieces: list[ast.expr]) -> list[ast.expr]:
    """Join neighbouring pieces of text in an f-string, which versions cut differently."""
    joined: list[ast.expr] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if isinstance(piece, ast.Constant) and isinstance(last, ast.Constant):
            joined[-1] = ast.Constant(str(last.value) + str(piece.value))
        else:
            joined.append(piece)
    return joined
