"""Everything that view files declare, checked against one another."""

import inspect
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, TypeVar

from adminview.model.access_pattern import AccessPattern
from adminview.model.attribute import PK, SK, Attribute
from adminview.model.errors import DeclarationError
from adminview.model.fingerprint import fingerprint, imports, is_empty
from adminview.model.index import Index
from adminview.model.local_imports import local_modules
from adminview.model.row import DATA, OWNER_INDEX, PROVENANCE, RESERVED
from adminview.model.source import Source
from adminview.model.sparse_index import sparseness_problems
from adminview.model.view import View

# Per table, set by DynamoDB.
INDEX_LIMIT = 20  # the owner index is one of them
LOCAL_INDEX_LIMIT = 5
INCLUDE_LIMIT = 100  # attributes that all indexes include, counted each time

Declared = TypeVar("Declared", Source, Index, AccessPattern, View)


@dataclass(frozen=True)
class Registry:
    """The model: its sources, views, indexes and questions, which agree with one another."""

    modules: tuple[ModuleType, ...]
    sources: tuple[Source, ...]
    views: tuple[View, ...]
    indexes: tuple[Index, ...]
    patterns: tuple[AccessPattern, ...]

    @classmethod
    def of(cls, modules: Iterable[ModuleType]) -> "Registry":
        """Collect what *modules* declare, and check it."""
        modules = tuple(modules)
        registry = cls(
            modules,
            _collect(modules, Source),
            _collect(modules, View),
            (*_collect(modules, Index), OWNER_INDEX),
            _collect(modules, AccessPattern),
        )
        for problem in registry._problems():
            raise DeclarationError(problem)
        return registry

    def source(self, name: str) -> Source:
        """Find a source by its name."""
        return _find("source", name, self.sources)

    def pattern(self, name: str) -> AccessPattern:
        """Find an access pattern by its name."""
        return _find("access pattern", name, self.patterns)

    def views_of(self, source: Source) -> tuple[View, ...]:
        """List the views on one source."""
        return tuple(view for view in self.views if view.source == source)

    @property
    def key_attributes(self) -> tuple[Attribute, ...]:
        """Every attribute that is a key of the table or of an index, each once."""
        keys = [PK, SK, *(key for index in self.indexes for key in index.stored_key)]
        return tuple(dict.fromkeys(keys))

    @property
    def global_indexes(self) -> tuple[Index, ...]:
        """The indexes over the whole table."""
        return tuple(index for index in self.indexes if not index.local)

    @property
    def local_indexes(self) -> tuple[Index, ...]:
        """The indexes within each partition of the table."""
        return tuple(index for index in self.indexes if index.local)

    def shape(self) -> dict[str, Any]:
        """Describe the model as plain data."""
        return {
            "sources": [source.shape() for source in self.sources],
            "indexes": [index.shape() for index in self.indexes],
            "patterns": [pattern.shape() for pattern in self.patterns],
            "views": [[view.source.name, view.name] for view in self.views],
        }

    @cached_property
    def fingerprint(self) -> str:
        """Identify the model: what is declared, and the code of the views, comments aside.

        Other modules of the app that view files import belong to the code.
        """
        return fingerprint(self.shape(), [*self._code.values(), *self._imported.values()])

    def known_as(self, model: str) -> "Registry":
        """Return this registry with a fingerprint that was computed before, to save the time."""
        self.__dict__["fingerprint"] = model  # as `cached_property` keeps it
        return self

    @cached_property
    def _code(self) -> dict[str, str]:
        return {module.__name__: inspect.getsource(module) for module in self.modules}

    @cached_property
    def _imported(self) -> dict[str, str]:
        """Return the app's other modules that view files import, with theirs, by name."""
        found = {
            name: file.read_text(encoding="utf-8")
            for name, file in sorted(local_modules(self._code).items())
        }
        return {name: text for name, text in found.items() if not is_empty(text)}

    def description(self) -> dict[str, Any]:
        """Describe the model, and its code by source, so that two models can be compared."""
        code = {source.name: self._code_of(source) for source in self.sources}
        return {"fingerprint": self.fingerprint, **self.shape(), "code": code}

    def _code_of(self, source: Source) -> str:
        """Identify the code that derives a source's rows: its view files, and what they import.

        A file without views may serve any of them.
        """
        code = self._code | self._imported
        others = {view.module for view in self.views} - {
            view.module for view in self.views_of(source)
        }
        used = code.keys() - others
        while more := {name for one in used for name in imports(code[one])} & code.keys() - used:
            used |= more
        return fingerprint({}, [text for name, text in code.items() if name in used])

    def _problems(self) -> Iterator[str]:
        """Find declarations that contradict each other; name both sides."""
        yield from _repeated("two sources follow one table", self.modules, self.sources)
        yield from _repeated("two indexes have one name", self.modules, self.indexes[:-1])
        yield from _repeated("two access patterns have one name", self.modules, self.patterns)
        yield from self._reference_problems()
        yield from self._limit_problems()
        yield from self._attribute_problems()
        yield from sparseness_problems(self.indexes)

    def _reference_problems(self) -> Iterator[str]:
        """Find what speaks of something that nobody declares."""
        for view in self.views:
            if view.source not in self.sources:
                yield (
                    f"view {view.name!r} in {view.module} is on source {view.source.name!r}, "
                    f"which no view file declares; declared are {_names(self.sources)}"
                )
        for pattern in self.patterns:
            if pattern.index and pattern.index not in self.indexes:
                yield (
                    f"access pattern {pattern.name!r} asks index {pattern.index.name!r}, "
                    f"which no view file declares; declared are {_names(self.indexes)}"
                )
        for source in self.sources:
            if not self.views_of(source):
                yield f"source {source.name!r} has no view: nothing of it would reach the table"

    def _limit_problems(self) -> Iterator[str]:
        """Find what DynamoDB would refuse when the table is created."""
        for kind, found, most in (
            ("indexes", self.global_indexes, INDEX_LIMIT),
            ("local indexes", self.local_indexes, LOCAL_INDEX_LIMIT),
        ):
            if len(found) > most:
                yield f"{len(found)} {kind}; DynamoDB takes {most}: {_names(found)}"
        if (included := sum(len(index.include) for index in self.indexes)) > INCLUDE_LIMIT:
            yield f"all indexes include {included} attributes; DynamoDB takes {INCLUDE_LIMIT}"
        if any(index.name == OWNER_INDEX.name for index in self.indexes[:-1]):
            yield f"index {OWNER_INDEX.name!r} has the name of the one that finds rows by owner"

    def _attribute_problems(self) -> Iterator[str]:
        """Find attributes that cannot be what two declarations say they are."""
        typed: dict[str, tuple[str, str]] = {}
        for index in self.indexes:
            keys = {key.name for key in index.entry_key}
            if index is not OWNER_INDEX and (taken := RESERVED & keys):
                yield (
                    f"index {index.name!r} is keyed by {', '.join(sorted(taken))}, "
                    f"which every row already uses for its own key, data and provenance"
                )
            for key in index.stored_key:
                type_, first = typed.setdefault(key.name, (key.type, index.name))
                if type_ != key.type:
                    yield (
                        f"attribute {key.name!r} is {type_} in index {first!r} "
                        f"and {key.type} in index {index.name!r}"
                    )
        written = {DATA, *PROVENANCE, *typed}
        for index in self.indexes:
            if keys := {PK.name, SK.name} & set(index.include):
                yield f"index {index.name!r} includes {', '.join(keys)}, which every index has"
            elif unknown := set(index.include) - written:
                yield (
                    f"index {index.name!r} includes {', '.join(sorted(unknown))}, "
                    f"which no row has; rows have {', '.join(sorted(written))}"
                )


def _collect(modules: Iterable[ModuleType], kind: type[Declared]) -> tuple[Declared, ...]:
    """List the declarations of one kind; one that several files import counts once."""
    found = {
        id(value): value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, kind)
    }
    return tuple(found.values())


def _repeated(
    problem: str, modules: Iterable[ModuleType], declared: Iterable[Source | Index | AccessPattern]
) -> Iterator[str]:
    declared = tuple(declared)
    counts = Counter(one.name for one in declared)
    for name, count in counts.items():
        if count > 1:
            where = [
                module.__name__
                for same in declared
                if same.name == name
                for module in modules
                if any(value is same for value in vars(module).values())
            ]
            yield f"{problem}, {name!r}: declared in {' and in '.join(where)}"


def _find(kind: str, name: str, declared: Iterable[Declared]) -> Declared:
    for one in declared:
        if one.name == name:
            return one
    msg = f"no {kind} is named {name!r}; declared are {_names(declared)}"
    raise KeyError(msg)


def _names(declared: Iterable[Source | Index | AccessPattern | View]) -> str:
    return ", ".join(sorted(one.name for one in declared)) or "none"
