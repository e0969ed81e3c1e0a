"""One phase of a model change: which indexes exist, and which access patterns are not ready.

`adminview apply` writes it into a file and passes that as `-c adminview:rolloutPhase=FILE`. Without
it, every declared index exists and every access pattern is ready.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from json import loads
from pathlib import Path
from typing import Any, Final

from adminview.aws.settings import PendingPatterns
from adminview.cdk.options.context import is_empty
from adminview.model import Index, Registry
from adminview.model.errors import DeclarationError, SettingsError
from adminview.model.registry import INDEX_LIMIT

KEEP, WITHOUT, PENDING, TOTALS = "keep", "without", "pending", "keepTotals"
KEYS: Final = (KEEP, WITHOUT, PENDING, TOTALS)
EXAMPLE: Final = (
    'an object such as {"keep": [indexes, each as model.lock.json has it], "without": ["GSI9"], '
    '"pending": {"orders-by-day": null}, "keepTotals": false}'
)


@dataclass(frozen=True, slots=True)
class RolloutPhase:
    """Undeclared indexes to keep, declared ones not yet created, and pending access patterns.

    With *keep_totals*, the view's stream and the totals stay, although no total is declared.
    """

    keep: tuple[Index, ...] = ()
    without: frozenset[str] = frozenset()
    pending: Mapping[str, str | None] = field(default_factory=dict)
    keep_totals: bool = False
    planned: bool = False  # whether a plan deploys, and builds the rows

    def indexes(self, registry: Registry) -> tuple[Index, ...]:
        """Return the indexes that the table has in this phase."""
        declared = [index for index in registry.indexes if index.name not in self.without]
        names = {index.name for index in declared}
        return (*declared, *(index for index in self.keep if index.name not in names))

    def pending_patterns(self, registry: Registry) -> dict[str, str | None]:
        """Return the access patterns that are not ready, with the index that serves them instead.

        They include those on an index that does not exist yet.
        """
        absent = [
            pattern.name
            for pattern in registry.patterns
            if pattern.index and not pattern.total and pattern.index.name in self.without
        ]
        return dict.fromkeys(absent) | dict(self.pending)

    @classmethod
    def read(cls, file: object, registry: Registry) -> "RolloutPhase":
        """Read the file that the context names, or raise a SettingsError."""
        if is_empty(file):
            return cls()
        try:
            entries = loads(Path(str(file)).read_text(encoding="utf-8"))
        except OSError as error:
            msg = f"context rolloutPhase: {file!r} cannot be read ({error.strerror})"
            raise SettingsError(msg) from error
        except ValueError as error:
            msg = f"context rolloutPhase: {file!r} is not JSON ({error})"
            raise SettingsError(msg) from error
        where = f"context rolloutPhase: in {file!r}, "
        for problem in _shape_problems(entries):
            raise SettingsError(where + problem)
        pending = PendingPatterns.read(entries.get(PENDING, {}), f"{where}{PENDING}").patterns
        keep = tuple(_index(where, shape) for shape in entries.get(KEEP, []))
        without = frozenset(entries.get(WITHOUT, []))
        phase = cls(keep, without, pending, keep_totals=entries.get(TOTALS, False), planned=True)
        for problem in (*phase._index_problems(registry), *phase._pattern_problems(registry)):
            raise SettingsError(where + problem)
        return phase

    def _index_problems(self, registry: Registry) -> Iterator[str]:
        """Find indexes that cannot be in one table, and unknown ones."""
        declared = {index.name: index for index in registry.indexes}
        for name in sorted(self.without - declared.keys()):
            known = _names(declared)
            yield f"{WITHOUT} names index {name!r}, which is not declared; declared are {known}"
        for index in self.keep:
            other = declared.get(index.name)
            if other and _fixed(other) != _fixed(index):
                yield (
                    f"index {index.name!r} in {KEEP} differs from the declared one: keys and "
                    "projection cannot change under one name, so give the declared one a new name"
                )
            elif other and index.name in self.without:
                yield f"index {index.name!r} is both in {KEEP} and in {WITHOUT}"
        if len({index.name for index in self.keep}) < len(self.keep):
            yield f"{KEEP} has an index twice"
        count = sum(not index.local for index in self.indexes(registry))
        if count > INDEX_LIMIT:
            yield f"{count} indexes at once; DynamoDB allows {INDEX_LIMIT}: {KEEP} fewer"
        types: dict[str, str] = {}
        for index in self.indexes(registry):
            for key in index.stored_key:
                if types.setdefault(key.name, key.type) != key.type:
                    yield (
                        f"index {index.name!r} has {key.name!r} as {key.type}, and another has it "
                        f"as {types[key.name]}: a key attribute has one type in a table"
                    )

    def _pattern_problems(self, registry: Registry) -> Iterator[str]:
        """Find undeclared access patterns, and older indexes or epochs that cannot serve theirs."""
        patterns = {pattern.name: pattern for pattern in registry.patterns}
        indexes = {index.name: index for index in self.indexes(registry)}
        for name, older in self.pending.items():
            if name not in patterns:
                known = _names(patterns)
                yield f"{PENDING} names {name!r}, which is no access pattern; declared are {known}"
            elif older is not None and (total := patterns[name].total):
                if older != str(total.epoch_was or None):
                    yield f"access pattern {name!r} cannot query epoch {older!r} of {total.name!r}"
            elif older is not None and older not in indexes:
                yield f"access pattern {name!r} cannot query {older!r}: there are {_names(indexes)}"
            elif older is not None:
                index = patterns[name].index
                if index is None or _keys(index) != _keys(indexes[older]):
                    yield f"access pattern {name!r} cannot query {older!r}, which has other keys"


def _shape_problems(entries: object) -> Iterator[str]:
    if not isinstance(entries, dict):
        yield f"found {type(entries).__name__}; expected {EXAMPLE}"
        return
    if unknown := sorted(set(entries) - set(KEYS)):
        yield f"unknown {', '.join(map(repr, unknown))}; there are {', '.join(KEYS)}"
    without, keep = entries.get(WITHOUT, []), entries.get(KEEP, [])
    if not isinstance(without, list) or not all(isinstance(name, str) for name in without):
        yield f"{WITHOUT} is not a list of names; expected {EXAMPLE}"
    if not isinstance(keep, list):
        yield f"{KEEP} is not a list; expected {EXAMPLE}"
    if not isinstance(entries.get(TOTALS, False), bool):
        yield f"{TOTALS} is neither true nor false; expected {EXAMPLE}"


def _index(where: str, shape: Any) -> Index:
    """Return the index that *shape* describes, or raise a SettingsError."""
    try:
        return Index.from_shape(shape)
    except DeclarationError as error:
        msg = f"{where}{KEEP}: {error}"
        raise SettingsError(msg) from error
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        msg = f"{where}{KEEP} does not describe an index; expected {EXAMPLE}"
        raise SettingsError(msg) from error


def _keys(index: Index) -> Any:
    return index.local, index.stored_partition, index.sort


def _fixed(index: Index) -> Any:
    """Return what DynamoDB cannot change in an index."""
    return _keys(index), index.projection, frozenset(index.include)


def _names(known: Mapping[str, Any]) -> str:
    return ", ".join(sorted(known))
