"""One wave of a plan that changes the model: what of it is there, and what is switched on.

`adminview apply` writes it into a file and names that in the context `wave`. Without one, all that
is declared is there and switched on.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from json import loads
from pathlib import Path
from typing import Any, Final

from adminview.aws.settings import PendingPatterns
from adminview.cdk.entry import is_nothing
from adminview.model import Index, Registry
from adminview.model.errors import DeclarationError, SettingsError
from adminview.model.registry import INDEX_LIMIT

KEEP, WITHOUT, BUILDING = "keep", "without", "building"
KEYS: Final = (KEEP, WITHOUT, BUILDING)
EXAMPLE: Final = (
    'an object such as {"keep": [indexes, each as model.lock.json has it], "without": ["GSI9"], '
    '"building": {"orders-by-day": null}}'
)


@dataclass(frozen=True, slots=True)
class Wave:
    """Indexes that stay though undeclared, declared ones to come, and questions being built."""

    keep: tuple[Index, ...] = ()
    without: frozenset[str] = frozenset()
    building: Mapping[str, str | None] = field(default_factory=dict)

    def indexes(self, registry: Registry) -> tuple[Index, ...]:
        """List the indexes that the table has in this wave."""
        declared = [index for index in registry.indexes if index.name not in self.without]
        names = {index.name for index in declared}
        return (*declared, *(index for index in self.keep if index.name not in names))

    def questions(self, registry: Registry) -> dict[str, str | None]:
        """Say what is being built; whatever asks an index that is not there is, too."""
        absent = [
            pattern.name
            for pattern in registry.patterns
            if pattern.index and pattern.index.name in self.without
        ]
        return dict.fromkeys(absent) | dict(self.building)

    @classmethod
    def read(cls, given: object, registry: Registry) -> "Wave":
        """Read the file that the context names, or say what is wrong in it."""
        if is_nothing(given):
            return cls()
        try:
            entries = loads(Path(str(given)).read_text(encoding="utf-8"))
        except OSError as error:
            msg = f"context wave: {given!r} cannot be read ({error.strerror}); it names a JSON file"
            raise SettingsError(msg) from error
        except ValueError as error:
            msg = f"context wave: {given!r} is not JSON ({error})"
            raise SettingsError(msg) from error
        where = f"context wave: in {given!r}, "
        for problem in _shape_problems(entries):
            raise SettingsError(where + problem)
        building = PendingPatterns.read(entries.get(BUILDING, {}), f"{where}{BUILDING}").questions
        keep = tuple(_index(where, shape) for shape in entries.get(KEEP, []))
        wave = cls(keep, frozenset(entries.get(WITHOUT, [])), building)
        for problem in (*wave._index_problems(registry), *wave._question_problems(registry)):
            raise SettingsError(where + problem)
        return wave

    def _index_problems(self, registry: Registry) -> Iterator[str]:
        """Find indexes that cannot be in one table, or of which nobody knows."""
        declared = {index.name: index for index in registry.indexes}
        for name in sorted(self.without - declared.keys()):
            known = _names(declared)
            yield f"{WITHOUT} names index {name!r}, which is not declared; declared are {known}"
        for index in self.keep:
            other = declared.get(index.name)
            if other and _made(other) != _made(index):
                yield (
                    f"{KEEP} has index {index.name!r} otherwise than it is declared: keys and "
                    "projection cannot change under one name, so give the declared one a new name"
                )
            elif other and index.name in self.without:
                yield f"index {index.name!r} is both in {KEEP} and in {WITHOUT}"
        if len({index.name for index in self.keep}) < len(self.keep):
            yield f"{KEEP} has an index twice"
        there = [index for index in self.indexes(registry) if not index.local]
        if len(there) > INDEX_LIMIT:
            yield f"{len(there)} indexes at once; DynamoDB takes {INDEX_LIMIT}: {KEEP} fewer"
        types: dict[str, str] = {}
        for index in self.indexes(registry):
            for key in index.stored_key:
                if types.setdefault(key.name, key.type) != key.type:
                    yield (
                        f"index {index.name!r} has {key.name!r} as {key.type}, and another has it "
                        f"as {types[key.name]}: an attribute of keys has one type in a table"
                    )

    def _question_problems(self, registry: Registry) -> Iterator[str]:
        """Find questions that nobody declares, and older indexes that could not answer them."""
        patterns = {pattern.name: pattern for pattern in registry.patterns}
        there = {index.name: index for index in self.indexes(registry)}
        for name, older in self.building.items():
            if name not in patterns:
                known = _names(patterns)
                yield f"{BUILDING} names {name!r}, which is no question; declared are {known}"
            elif older is not None and older not in there:
                yield f"question {name!r} cannot be asked of {older!r}: there are {_names(there)}"
            elif older is not None:
                index = patterns[name].index
                if index is None or _keys(index) != _keys(there[older]):
                    yield f"question {name!r} cannot be asked of {older!r}, which has other keys"


def _shape_problems(given: object) -> Iterator[str]:
    if not isinstance(given, dict):
        yield f"found {type(given).__name__}; expected {EXAMPLE}"
        return
    if unknown := sorted(set(given) - set(KEYS)):
        yield f"unknown {', '.join(map(repr, unknown))}; there are {', '.join(KEYS)}"
    without, keep = given.get(WITHOUT, []), given.get(KEEP, [])
    if not isinstance(without, list) or not all(isinstance(one, str) for one in without):
        yield f"{WITHOUT} is not a list of names; expected {EXAMPLE}"
    if not isinstance(keep, list):
        yield f"{KEEP} is not a list; expected {EXAMPLE}"


def _index(where: str, shape: Any) -> Index:
    """Make an index of what describes it, whatever that is."""
    try:
        return Index.from_shape(shape)
    except DeclarationError as error:
        msg = f"{where}{KEEP}: {error}"
        raise SettingsError(msg) from error
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        msg = f"{where}{KEEP} describes an index in an unknown way; expected {EXAMPLE}"
        raise SettingsError(msg) from error


def _keys(index: Index) -> Any:
    return index.local, index.stored_partition, index.sort


def _made(index: Index) -> Any:
    """Take what DynamoDB is told of an index once and for all."""
    return _keys(index), index.projection, frozenset(index.include)


def _names(known: Mapping[str, Any]) -> str:
    return ", ".join(sorted(known))
