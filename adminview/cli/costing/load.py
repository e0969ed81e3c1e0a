"""A short description of what a source goes through, and what it leaves to be assumed."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

from adminview.cli.costing.prices import is_amount
from adminview.model import Registry
from adminview.model.errors import SettingsError
from adminview.model.row import OWNER_INDEX

EXAMPLE: Final = (
    '{"Orders": {"changesPerSecond": 100, "rows": 3, "rowBytes": 600, "unchanged": 0.25, '
    '"indexes": {"GSI1": {"rows": 1, "moves": 0.5}}}}'
)
# JSON name -> ours.
NAMES: Final = {
    "changesPerSecond": "changes",
    "itemBytes": "item_bytes",
    "items": "items",
    "rows": "rows",
    "rowBytes": "row_bytes",
    "unchanged": "unchanged",
    "repeated": "repeated",
    "appearing": "appearing",
    "indexes": "indexes",
}
SHARES: Final = ("unchanged", "repeated", "appearing")
# What is reckoned with where nothing is told; the numbers are those of SourceLoad.
ASSUMED: Final = {
    "itemBytes": "items of 1,024 bytes",
    "items": "no items, so nothing is stored",
    "rows": "one row of an item",
    "rowBytes": "rows of 1,024 bytes",
    "unchanged": "every change shows in a row",
    "repeated": "no item changes twice within a batch",
    "appearing": "with every tenth change an item comes or goes",
    "indexes": "no row stands in an index",
}


@dataclass(frozen=True, slots=True)
class IndexLoad:
    """How many rows of an item stand in an index, and how often a change moves them there."""

    rows: float
    moves: float = 0.0  # the share of writes that change the entry's key: it goes and comes


@dataclass(frozen=True, slots=True)
class SourceLoad:
    """What one source goes through, on average."""

    source: str
    changes: float  # a second
    item_bytes: float = 1024.0
    items: float = 0.0  # in the table
    rows: float = 1.0  # of an item
    row_bytes: float = 1024.0
    unchanged: float = 0.0  # the share of changes that no row shows
    repeated: float = 0.0  # the share of changes that a later one of the same batch overrules
    appearing: float = 0.1  # the share of changes with which an item comes or goes
    indexes: Mapping[str, IndexLoad] = field(default_factory=dict)
    assumed: tuple[str, ...] = field(default=(), compare=False)  # what was not told, in words

    @property
    def shown(self) -> float:
        """Changes a second whose rows are written."""
        return self.changes * (1 - self.unchanged) * (1 - self.repeated)

    def data(self) -> dict[str, Any]:
        """Describe it as it is read."""
        told: dict[str, Any] = {name: getattr(self, ours) for name, ours in NAMES.items()}
        return {**told, "indexes": {name: asdict(one) for name, one in self.indexes.items()}}


def read_loads(given: object, registry: Registry) -> list[SourceLoad]:
    """Read a description of loads, or say what is wrong in it and what would be right."""
    for problem in _problems(given, registry):
        msg = f"load: {problem}"
        raise SettingsError(msg)
    assert isinstance(given, Mapping)
    return [_load(name, entry) for name, entry in given.items()]


def _load(source: str, entry: Mapping[str, Any]) -> SourceLoad:
    indexes = {
        name: IndexLoad(float(one["rows"]), float(one.get("moves", 0)))
        for name, one in entry.get("indexes", {}).items()
    }
    numbers = {NAMES[name]: float(one) for name, one in entry.items() if name != "indexes"}
    assumed = [words for name, words in ASSUMED.items() if name not in entry]
    if still := [name for name, one in entry.get("indexes", {}).items() if "moves" not in one]:
        assumed.append(f"no write moves a row within {', '.join(still)}")
    return SourceLoad(source, **numbers, indexes=indexes, assumed=tuple(assumed))


def _problems(given: object, registry: Registry) -> Iterator[str]:
    if not isinstance(given, Mapping) or not given:
        yield f"expected an object such as {EXAMPLE}"
        return
    declared = [source.name for source in registry.sources]
    indexes = [index.name for index in registry.indexes if index != OWNER_INDEX]
    for source, entry in given.items():
        if source not in declared:
            yield f"no view file declares a source {source!r}; declared are {', '.join(declared)}"
        elif not isinstance(entry, Mapping):
            yield f"{source} is {entry!r}; expected an object such as {EXAMPLE}"
        else:
            yield from _entry_problems(source, entry, indexes)


def _entry_problems(source: str, entry: Mapping[str, Any], indexes: list[str]) -> Iterator[str]:
    if unknown := sorted(set(entry) - set(NAMES)):
        yield f"{source}: unknown {', '.join(map(repr, unknown))}; there are {', '.join(NAMES)}"
    if "changesPerSecond" not in entry:
        yield f"{source}: changesPerSecond is missing"
    for name in NAMES:
        if name != "indexes" and name in entry:
            most = 1.0 if name in SHARES else None
            yield from _number_problems(f"{source}.{name}", entry[name], most)
    members = entry.get("indexes", {})
    if not isinstance(members, Mapping):
        yield f"{source}.indexes is {members!r}; expected an object such as {EXAMPLE}"
        return
    known = [one.name for one in fields(IndexLoad)]
    for name, member in members.items():
        where = f"{source}.indexes.{name}"
        if name not in indexes:
            yield f"{where}: no such index is declared; declared are {', '.join(indexes)}"
        elif not isinstance(member, Mapping) or "rows" not in member or set(member) - set(known):
            yield f'{where} is {member!r}; expected {{"rows": rows of an item in it, "moves": 0.5}}'
        else:
            yield from _number_problems(f"{where}.rows", member["rows"], None)
            yield from _number_problems(f"{where}.moves", member.get("moves", 0), 1.0)
            if member["rows"] > (rows := entry.get("rows", 1)):
                yield f"{where}.rows is {member['rows']}; an item has {rows} rows in all"


def _number_problems(where: str, value: object, most: float | None) -> Iterator[str]:
    if not is_amount(value):
        yield f"{where} is {value!r}; expected a number, 0 or more"
    elif most is not None and value > most:
        yield f"{where} is {value!r}; expected a share between 0 and 1"
