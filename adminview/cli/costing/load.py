"""The description of a workload, and the assumptions for what it omits."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from math import inf
from typing import Any, Final

from adminview.cli.costing.prices import is_amount
from adminview.model import Registry
from adminview.model.errors import SettingsError
from adminview.model.row import OWNER_INDEX

EXAMPLE: Final = (
    '{"Orders": {"changesPerSecond": 100, "rows": 3, "rowBytes": 600, "unchanged": 0.25, '
    '"indexes": {"GSI1": {"rows": 1, "moves": 0.5}}}}'
)
TOTAL_EXAMPLE: Final = '{"DailySales": {"updates": 1, "groups": 20}}'
# JSON name -> attribute of SourceLoad.
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
    "totals": "totals",
}
SHARES: Final = ("unchanged", "repeated", "appearing")
# The defaults of SourceLoad in words.
ASSUMED: Final = {
    "itemBytes": "items of 1,024 bytes",
    "items": "no items, so no storage",
    "rows": "1 row per item",
    "rowBytes": "rows of 1,024 bytes",
    "unchanged": "every change changes a row",
    "repeated": "no item changes twice within a batch",
    "appearing": "1 change in 10 inserts or deletes an item",
    "indexes": "no row is in an index",
    "totals": "no row contributes to a total",
}
NESTED: Final = ("indexes", "totals")


@dataclass(frozen=True, slots=True)
class IndexLoad:
    """The rows of an item in one index."""

    rows: float
    moves: float = 0.0  # the share of writes that change the entry's key: a delete and a put


@dataclass(frozen=True, slots=True)
class TotalLoad:
    """What the changes of an item do to one total."""

    updates: float  # groups whose count or sums a change moves
    groups: float = inf  # that the changes of a batch are spread over


@dataclass(frozen=True, slots=True)
class SourceLoad:
    """The workload of one source, on average."""

    source: str
    changes: float  # per second
    item_bytes: float = 1024.0
    items: float = 0.0  # in the table
    rows: float = 1.0  # per item
    row_bytes: float = 1024.0
    unchanged: float = 0.0  # the share of changes that no row shows
    repeated: float = 0.0  # the share of changes that a later one in the same batch replaces
    appearing: float = 0.1  # the share of changes that insert or delete an item
    indexes: Mapping[str, IndexLoad] = field(default_factory=dict)
    totals: Mapping[str, TotalLoad] = field(default_factory=dict)
    assumed: tuple[str, ...] = field(default=(), compare=False)  # in words

    @property
    def written(self) -> float:
        """Changes per second whose rows are written."""
        return self.changes * (1 - self.unchanged) * (1 - self.repeated)

    def data(self) -> dict[str, Any]:
        """Return the JSON object that `read_loads` reads."""
        values: dict[str, Any] = {name: getattr(self, field) for name, field in NAMES.items()}
        indexes = {name: asdict(index) for name, index in self.indexes.items()}
        totals = {
            name: {key: value for key, value in asdict(total).items() if value != inf}
            for name, total in self.totals.items()
        }
        return {**values, "indexes": indexes, "totals": totals}


def read_loads(description: object, registry: Registry) -> list[SourceLoad]:
    """Read a description of workloads; raise SettingsError with its first problem."""
    for problem in _problems(description, registry):
        msg = f"load: {problem}"
        raise SettingsError(msg)
    assert isinstance(description, Mapping)
    omit = () if registry.totals else ("totals",)
    return [_load(name, entry, omit) for name, entry in description.items()]


def _load(source: str, entry: Mapping[str, Any], omit: Collection[str]) -> SourceLoad:
    """Read one source; do not mention assumptions about what *omit* names."""
    indexes = {
        name: IndexLoad(float(member["rows"]), float(member.get("moves", 0)))
        for name, member in entry.get("indexes", {}).items()
    }
    totals = {
        name: TotalLoad(float(total["updates"]), float(total.get("groups", inf)))
        for name, total in entry.get("totals", {}).items()
    }
    numbers = {NAMES[name]: float(value) for name, value in entry.items() if name not in NESTED}
    assumed = [words for name, words in ASSUMED.items() if name not in {*entry, *omit}]
    members = entry.get("indexes", {}).items()
    if still := [name for name, member in members if "moves" not in member]:
        assumed.append(f"no write moves a row within {', '.join(still)}")
    if spread := [name for name, total in totals.items() if total.groups == inf]:
        assumed.append(f"all changes of a batch are of different groups of {', '.join(spread)}")
    return SourceLoad(source, **numbers, indexes=indexes, totals=totals, assumed=tuple(assumed))


def _problems(description: object, registry: Registry) -> Iterator[str]:
    if not isinstance(description, Mapping) or not description:
        yield f"expected an object such as {EXAMPLE}"
        return
    declared = [source.name for source in registry.sources]
    indexes = [index.name for index in registry.indexes if index != OWNER_INDEX]
    for source, entry in description.items():
        if source not in declared:
            yield f"unknown source {source!r}; the view files declare {', '.join(declared)}"
        elif not isinstance(entry, Mapping):
            yield f"{source} is {entry!r}; expected an object such as {EXAMPLE}"
        else:
            yield from _entry_problems(source, entry, indexes)
            yield from _total_problems(source, entry, [total.name for total in registry.totals])


def _total_problems(source: str, entry: Mapping[str, Any], totals: list[str]) -> Iterator[str]:
    members = entry.get("totals", {})
    if not isinstance(members, Mapping):
        yield f"{source}.totals is {members!r}; expected {TOTAL_EXAMPLE}"
        return
    known = [attribute.name for attribute in fields(TotalLoad)]
    for name, member in members.items():
        where = f"{source}.totals.{name}"
        if name not in totals:
            yield f"{where}: unknown total; the view files declare {', '.join(totals) or 'none'}"
        elif not isinstance(member, Mapping) or "updates" not in member or set(member) - set(known):
            yield f"{where} is {member!r}; expected {TOTAL_EXAMPLE}"
        else:
            for key, value in member.items():
                yield from _number_problems(f"{where}.{key}", value, None)


def _entry_problems(source: str, entry: Mapping[str, Any], indexes: list[str]) -> Iterator[str]:
    if unknown := sorted(set(entry) - set(NAMES)):
        yield f"{source}: unknown {', '.join(map(repr, unknown))}; expected {', '.join(NAMES)}"
    if "changesPerSecond" not in entry:
        yield f"{source}: changesPerSecond is missing"
    for name in NAMES:
        if name not in NESTED and name in entry:
            most = 1.0 if name in SHARES else None
            yield from _number_problems(f"{source}.{name}", entry[name], most)
    members = entry.get("indexes", {})
    if not isinstance(members, Mapping):
        yield f"{source}.indexes is {members!r}; expected an object such as {EXAMPLE}"
        return
    known = [attribute.name for attribute in fields(IndexLoad)]
    for name, member in members.items():
        where = f"{source}.indexes.{name}"
        if name not in indexes:
            yield f"{where}: unknown index; the view files declare {', '.join(indexes)}"
        elif not isinstance(member, Mapping) or "rows" not in member or set(member) - set(known):
            yield f'{where} is {member!r}; expected {{"rows": rows per item, "moves": 0.5}}'
        else:
            yield from _number_problems(f"{where}.rows", member["rows"], None)
            yield from _number_problems(f"{where}.moves", member.get("moves", 0), 1.0)
            if member["rows"] > (rows := entry.get("rows", 1)):
                yield f"{where}.rows is {member['rows']}; an item has {rows} rows"


def _number_problems(where: str, value: object, most: float | None) -> Iterator[str]:
    if not is_amount(value):
        yield f"{where} is {value!r}; expected a number, 0 or more"
    elif most is not None and value > most:
        yield f"{where} is {value!r}; expected a share between 0 and 1"
