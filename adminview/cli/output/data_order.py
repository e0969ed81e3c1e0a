"""The order of the attributes of `data`, as view files write them.

DynamoDB keeps no order in a map, so the order comes from the code of the views: the names in a call
of `pick`, and the keys of a dict.
"""

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeAlias

from adminview.model import Registry
from adminview.model.fingerprint import parse
from adminview.model.places import source_of

Placed: TypeAlias = tuple[tuple[int, int], str]  # line and column, and the name there


@dataclass(frozen=True, slots=True)
class DataOrder:
    """Sorts attributes as the functions of the view files write them."""

    # The names in each function, and then those in the rest of its file.
    functions: Sequence[tuple[frozenset[str], Sequence[str]]] = ()

    @classmethod
    def of(cls, model: Registry) -> "DataOrder":
        """Read the order from the view files."""
        return cls([function for module in model.modules for function in _functions(module)])

    def columns(self, rows: Iterable[Collection[str]]) -> list[str]:
        """Return the attributes of all rows, each once, in the order of the code.

        The attributes of a row are in the order of the function that writes most of them; of
        several such functions, the one that writes the fewest others, then the first. Rows of
        different functions follow each other. Names that no function writes are sorted.
        """
        written: dict[int | None, set[str]] = {}
        for names in rows:
            written.setdefault(self._function(names), set()).update(names)
        columns: list[str] = []
        for function, names in written.items():
            order = [] if function is None else self.functions[function][1]
            places = {name: place for place, name in enumerate(order)}
            columns += sorted(names, key=lambda name: (places.get(name, len(places)), name))
        return [*dict.fromkeys(columns)]

    def _function(self, names: Collection[str]) -> int | None:
        """Return the position of the function that writes most of the names."""
        needed = {*names}

        def fit(position: int) -> tuple[int, int]:
            own, _ = self.functions[position]
            return len(needed & own), -len(own)

        best = max(range(len(self.functions)), key=fit, default=None)
        return None if best is None or not fit(best)[0] else best


def _functions(module: Any) -> Iterator[tuple[frozenset[str], list[str]]]:
    tree = parse(source_of(module))
    everything = _in_order(_names(tree, vars(module)))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            own = _in_order(_names(node, vars(module)))
            yield frozenset(own), [*dict.fromkeys([*own, *everything])]


def _in_order(names: Iterator[Placed]) -> list[str]:
    return [*dict.fromkeys(name for _, name in sorted(names, key=itemgetter(0)))]


def _names(tree: ast.AST, constants: Mapping[str, Any]) -> Iterator[Placed]:
    """Yield the names of attributes in a piece of code. Names in one constant share a place."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="pick"), args=texts) | ast.Dict(keys=texts):
                for text in filter(None, texts):
                    place = text.lineno, text.col_offset
                    yield from ((place, name) for name in _texts(text, constants))
            case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
                for keyword in keywords:
                    if keyword.arg:
                        yield (keyword.lineno, keyword.col_offset), keyword.arg


def _texts(node: ast.expr, constants: Mapping[str, Any]) -> list[str]:
    """Return the text of an expression, or the texts of a constant with a star before it."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.Starred(value=ast.Name(id=name)) if isinstance(constants.get(name), list | tuple):
            return [text for text in constants[name] if isinstance(text, str)]
    return []
