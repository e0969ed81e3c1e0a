"""The registry: all declarations of the view files, checked against each other."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias, TypeVar

from adminview.model.access_pattern import AccessPattern
from adminview.model.attribute import PK, SK, Attribute
from adminview.model.errors import DeclarationError
from adminview.model.fingerprint import fingerprint, imports, is_empty
from adminview.model.index import Index
from adminview.model.local_imports import local_modules
from adminview.model.places import place_of_declaration
from adminview.model.row import DATA, OWNER_INDEX, PROVENANCE, RESERVED
from adminview.model.source import Source
from adminview.model.total import Total
from adminview.model.view import View

# Per table, set by DynamoDB.
INDEX_LIMIT = 20  # the owner index is one of them
LOCAL_INDEX_LIMIT = 5
INCLUDE_LIMIT = 100  # included attributes of all indexes; one that two indexes include counts twice

Declared = TypeVar("Declared", Source, Index, AccessPattern, View, Total)
Problem: TypeAlias = tuple[str, Source | Index | AccessPattern | View | Total]


@dataclass(frozen=True)
class Registry:
    """The model: its sources, views, indexes, access patterns and totals."""

    modules: tuple[ModuleType, ...]
    sources: tuple[Source, ...]
    views: tuple[View, ...]
    indexes: tuple[Index, ...]
    patterns: tuple[AccessPattern, ...]
    totals: tuple[Total, ...] = ()

    @classmethod
    def of(cls, modules: Iterable[ModuleType]) -> "Registry":
        """Collect the declarations of *modules*; raises a DeclarationError if they disagree."""
        modules = tuple(modules)
        registry = cls(
            modules,
            _collect(modules, Source),
            _collect(modules, View),
            (*_collect(modules, Index), OWNER_INDEX),
            _collect(modules, AccessPattern),
            _collect(modules, Total),
        )
        for text, declaration in registry._problems():
            raise DeclarationError(text, place=place_of_declaration(declaration, modules))
        return registry

    def source(self, name: str) -> Source:
        """Return the source named *name*; raises a KeyError that lists all names."""
        return _find("source", name, self.sources)

    def pattern(self, name: str) -> AccessPattern:
        """Return the access pattern named *name*; raises a KeyError that lists all names."""
        return _find("access pattern", name, self.patterns)

    def views_of(self, source: Source) -> tuple[View, ...]:
        return tuple(view for view in self.views if view.source == source)

    @property
    def key_attributes(self) -> tuple[Attribute, ...]:
        """The key attributes of the table and of all indexes, without repetition."""
        keys = [PK, SK, *(key for index in self.indexes for key in index.stored_key)]
        return tuple(dict.fromkeys(keys))

    @property
    def global_indexes(self) -> tuple[Index, ...]:
        return tuple(index for index in self.indexes if not index.local)

    @property
    def local_indexes(self) -> tuple[Index, ...]:
        return tuple(index for index in self.indexes if index.local)

    def shape(self) -> dict[str, Any]:
        return {
            "sources": [source.shape() for source in self.sources],
            "indexes": [index.shape() for index in self.indexes],
            "patterns": [pattern.shape() for pattern in self.patterns],
            "totals": [total.shape() for total in self.totals],
            "views": [[view.source.name, view.name] for view in self.views],
        }

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the declarations and of the code of the views, without comments.

        The code includes the app's other modules that view files import.
        """
        return fingerprint(self.shape(), [*self._code.values(), *self._imported.values()])

    def known_as(self, model: str) -> "Registry":
        """Return this registry with a fingerprint that was computed before: a faster cold start."""
        self.__dict__["fingerprint"] = model  # where `cached_property` stores it
        return self

    @cached_property
    def _code(self) -> dict[str, str]:
        return {module.__name__: _text(module) for module in self.modules}

    @cached_property
    def _imported(self) -> dict[str, str]:
        """The texts of the app's other modules that view files import, by module name."""
        texts = {
            name: file.read_text(encoding="utf-8")
            for name, file in sorted(local_modules(self._code).items())
        }
        return {name: text for name, text in texts.items() if not is_empty(text)}

    def description(self) -> dict[str, Any]:
        """Return the shape, the fingerprint, and a fingerprint of the code of each source."""
        code = {source.name: self._code_of(source) for source in self.sources}
        return {"fingerprint": self.fingerprint, **self.shape(), "code": code}

    def _code_of(self, source: Source) -> str:
        """Return the fingerprint of a source's view files and of what they import.

        A file without views may be used by any view, so it counts for every source.
        """
        code = self._code | self._imported
        others = {view.module for view in self.views} - {
            view.module for view in self.views_of(source)
        }
        used = code.keys() - others
        while more := {name for user in used for name in imports(code[user])} & code.keys() - used:
            used |= more
        return fingerprint({}, [text for name, text in code.items() if name in used])

    def _problems(self) -> Iterator[Problem]:
        """Yield contradictions between declarations; each problem names both sides."""
        yield from _repeated("two sources have the same table", self.modules, self.sources)
        yield from _repeated("two indexes have the same name", self.modules, self.indexes[:-1])
        yield from _repeated("two access patterns have the same name", self.modules, self.patterns)
        yield from _repeated("two totals have the same name", self.modules, self.totals)
        yield from self._reference_problems()
        yield from self._limit_problems()
        yield from self._attribute_problems()
        yield from _sparseness_problems(self.indexes)

    def _reference_problems(self) -> Iterator[Problem]:
        for view in self.views:
            if view.source not in self.sources:
                text = (
                    f"view {view.name!r} in {view.module} is on source {view.source.name!r}, "
                    f"which no view file declares; declared are {_names(self.sources)}"
                )
                yield text, view
        for pattern in self.patterns:
            if pattern.total:
                if pattern.total not in self.totals:
                    text = (
                        f"access pattern {pattern.name!r} queries total {pattern.total.name!r}, "
                        f"which no view file declares; declared are {_names(self.totals)}"
                    )
                    yield text, pattern
            elif pattern.index and pattern.index not in self.indexes:
                text = (
                    f"access pattern {pattern.name!r} queries index {pattern.index.name!r}, "
                    f"which no view file declares; declared are {_names(self.indexes)}"
                )
                yield text, pattern
        for source in self.sources:
            if not self.views_of(source):
                yield f"source {source.name!r} has no view; add one, or remove the source", source

    def _limit_problems(self) -> Iterator[Problem]:
        """Yield what DynamoDB would refuse when it creates the table."""
        for kind, indexes, most in (
            ("indexes", self.global_indexes, INDEX_LIMIT),
            ("local indexes", self.local_indexes, LOCAL_INDEX_LIMIT),
        ):
            if len(indexes) > most:
                text = f"{len(indexes)} {kind}; DynamoDB takes at most {most}: {_names(indexes)}"
                yield text, indexes[0]
        if (included := sum(len(index.include) for index in self.indexes)) > INCLUDE_LIMIT:
            text = f"all indexes include {included} attributes; DynamoDB takes {INCLUDE_LIMIT}"
            yield text, self.indexes[0]
        for index in self.indexes[:-1]:
            if index.name == OWNER_INDEX.name:
                text = f"index {index.name!r}: AdminView's own index has this name; choose another"
                yield text, index

    def _attribute_problems(self) -> Iterator[Problem]:
        """Yield key attributes with two types, and included attributes that no row has."""
        typed: dict[str, tuple[str, str]] = {}
        for index in self.indexes:
            keys = {key.name for key in index.entry_key}
            if index is not OWNER_INDEX and (taken := RESERVED & keys):
                text = (
                    f"index {index.name!r} is keyed by {', '.join(sorted(taken))}, "
                    "which every row uses for its own key, data and provenance; choose another name"
                )
                yield text, index
            for key in index.stored_key:
                type_, first = typed.setdefault(key.name, (key.type, index.name))
                if type_ != key.type:
                    text = (
                        f"attribute {key.name!r} is {type_} in index {first!r} "
                        f"and {key.type} in index {index.name!r}"
                    )
                    yield text, index
        written = {DATA, *PROVENANCE, *typed}
        for index in self.indexes:
            if keys := {PK.name, SK.name} & set(index.include):
                text = f"index {index.name!r} includes {', '.join(keys)}, which every index has"
                yield text, index
            elif unknown := set(index.include) - written:
                text = (
                    f"index {index.name!r} includes {', '.join(sorted(unknown))}, "
                    f"which no row has; rows have {', '.join(sorted(written))}"
                )
                yield text, index


def _collect(modules: Iterable[ModuleType], kind: type[Declared]) -> tuple[Declared, ...]:
    """Return the declarations of one kind; one that several files import counts once."""
    declared = {
        id(value): value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, kind)
    }
    return tuple(declared.values())


def _repeated(
    problem: str,
    modules: Iterable[ModuleType],
    declared: Iterable[Source | Index | AccessPattern | Total],
) -> Iterator[Problem]:
    declared = tuple(declared)
    counts = Counter(declaration.name for declaration in declared)
    for name, count in counts.items():
        if count > 1:
            same = [declaration for declaration in declared if declaration.name == name]
            where = [
                place_of_declaration(declaration, modules) or _first_with(declaration, modules)
                for declaration in same
            ]
            files = "twice in " + where[0] if len({*where}) == 1 else "in " + " and in ".join(where)
            yield f"{problem}, {name!r}: declared {files}", same[-1]


def _first_with(declaration: object, modules: Iterable[ModuleType]) -> str:
    """Return the name of the first module that has a declaration."""
    return next(
        module.__name__
        for module in modules
        if any(value is declaration for value in vars(module).values())
    )


def _text(module: ModuleType) -> str:
    """Return the text of a module's file, which may be empty: `inspect.getsource` refuses that."""
    return Path(str(module.__file__)).read_text(encoding="utf-8")


def _find(kind: str, name: str, declared: Iterable[Declared]) -> Declared:
    for declaration in declared:
        if declaration.name == name:
            return declaration
    msg = f"no {kind} is named {name!r}; declared are {_names(declared)}"
    raise KeyError(msg)


def _names(declared: Iterable[Source | Index | AccessPattern | View | Total]) -> str:
    return ", ".join(sorted(declaration.name for declaration in declared)) or "none"


def _sparseness_problems(indexes: Sequence[Index]) -> Iterator[Problem]:
    """Yield indexes that rows would enter through the key attributes of other indexes.

    DynamoDB puts a row into each index whose key attributes the row has, even if no view gave it an
    entry there. So an index stays sparse only if one of its key attributes is its own.
    """
    keys = {index.name: _own_key(index) for index in indexes}
    for index in indexes:
        name, key = index.name, keys[index.name]
        shared = {other: key & theirs for other, theirs in keys.items() if other != name}
        for other, names in shared.items():
            if names == key:
                text = (
                    f"index {name!r} would not be sparse: its key attributes ({_listed(key)}) are "
                    f"all key attributes of index {other!r}, so every row in {other!r} would also "
                    f"appear in {name!r}. Give {name!r} a key attribute that {other!r} does not "
                    f"have, or query {other!r} instead"
                )
                yield text, index
        if key <= set().union(*shared.values()):
            others = " and ".join(repr(other) for other, names in shared.items() if names)
            text = (
                f"index {name!r} would not be sparse: its key attributes ({_listed(key)}) are all "
                f"key attributes of {others} taken together, so a row in all of these would also "
                f"appear in {name!r}. Give {name!r} a key attribute of its own"
            )
            yield text, index


def _own_key(index: Index) -> set[str]:
    """Return the key attributes of an index without PK, which every row has."""
    return {attribute.name for attribute in index.stored_key} - {PK.name}


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))


def monitored_parts(description: Mapping[str, Any]) -> str:
    """Name the parts of a described model that its alarms depend on.

    They are the sources, the global indexes, and whether there are totals.
    """
    sources = [source["name"] for source in description["sources"]]
    indexes = [index["name"] for index in description["indexes"] if not index.get("local")]
    totals = "; totals" if description.get("totals") else ""
    return f"sources {', '.join(sorted(sources))}; indexes {', '.join(sorted(indexes))}{totals}"
