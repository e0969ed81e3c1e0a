"""Compare the descriptions of two models."""

from collections.abc import Iterable
from dataclasses import dataclass
from json import dumps, loads
from typing import Any, TypeAlias

Description: TypeAlias = dict[str, Any]  # of a model: `Registry.description()`
Shape: TypeAlias = dict[str, Any]  # of a source, an index, an access pattern or a total
Names: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelDiff:
    """The difference between two models: names in the order of declaration.

    An index is *changed* if its key or projection differs under the same name, which DynamoDB
    cannot change. It is *resharded* if only its number of shards differs: its rows move.

    A total is *changed* if its declaration differs in any way, its epochs included.
    """

    old: Description | None  # None: nothing is deployed yet
    new: Description
    new_patterns: Names
    dropped_patterns: Names
    changed_patterns: Names
    new_indexes: Names
    dropped_indexes: Names
    changed_indexes: Names
    resharded_indexes: Names
    new_sources: Names
    dropped_sources: Names
    changed_sources: Names
    new_totals: Names
    dropped_totals: Names
    changed_totals: Names
    rebuilt: Names  # sources whose rows must be derived again

    @classmethod
    def between(cls, old: Description | None, new: Description) -> "ModelDiff":
        old, new = _plain(old), _plain(new)
        patterns = _Pairs.of(old, new, "patterns")
        indexes = _Pairs.of(old, new, "indexes")
        sources = _Pairs.of(old, new, "sources")
        totals = _Pairs.of(old, new, "totals")
        return cls(
            old,
            new,
            *(patterns.new, patterns.dropped, patterns.changed),
            *(indexes.new, indexes.dropped),
            tuple(name for name in indexes.changed if _is_another(*indexes.both(name))),
            tuple(name for name in indexes.both_sides if _moves_rows(*indexes.both(name))),
            *(sources.new, sources.dropped, sources.changed),
            *(totals.new, totals.dropped, totals.changed),
            _rebuilt(old, new, sources.changed),
        )

    @property
    def is_empty(self) -> bool:
        return self.old == self.new

    def pattern(self, name: str) -> tuple[Shape | None, Shape | None]:
        """Return an access pattern before and after; None where it does not exist."""
        return self._sides("patterns", name)

    def index(self, name: str) -> tuple[Shape | None, Shape | None]:
        """Return an index before and after; None where it does not exist."""
        return self._sides("indexes", name)

    def source(self, name: str) -> tuple[Shape | None, Shape | None]:
        """Return a source before and after; None where it does not exist."""
        return self._sides("sources", name)

    def total(self, name: str) -> tuple[Shape | None, Shape | None]:
        """Return a total before and after; None where it does not exist."""
        return self._sides("totals", name)

    def _sides(self, part: str, name: str) -> tuple[Shape | None, Shape | None]:
        return _by_name(self.old, part).get(name), _by_name(self.new, part).get(name)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The shapes of one kind in both models."""

    before: dict[str, Shape]
    after: dict[str, Shape]

    @classmethod
    def of(cls, old: Description | None, new: Description, part: str) -> "_Pairs":
        return cls(_by_name(old, part), _by_name(new, part))

    @property
    def new(self) -> Names:
        return tuple(name for name in self.after if name not in self.before)

    @property
    def dropped(self) -> Names:
        return tuple(name for name in self.before if name not in self.after)

    @property
    def both_sides(self) -> Names:
        return tuple(name for name in self.after if name in self.before)

    @property
    def changed(self) -> Names:
        return tuple(name for name in self.both_sides if self.before[name] != self.after[name])

    def both(self, name: str) -> tuple[Shape, Shape]:
        return self.before[name], self.after[name]


def _as_stored(index: Shape) -> tuple[Any, ...]:
    """Return the properties of an index that DynamoDB stores and cannot change."""
    # The number of shards is not one of them: the attribute that holds the shard stays the same.
    key = (index["partition"], "shards" in index, index["sort"])
    return (*key, index["projection"], index["include"], index.get("local", False))


def _is_another(before: Shape, after: Shape) -> bool:
    return _as_stored(before) != _as_stored(after)


def _moves_rows(before: Shape, after: Shape) -> bool:
    """Return whether rows move to other shards of the same index."""
    if _is_another(before, after) or "shards" not in after:
        return False
    return bool(before["shards"][0] != after["shards"][0])  # the second is `shards_were`


def _rebuilt(old: Description | None, new: Description, changed: Iterable[str]) -> Names:
    """Return the sources whose rows may differ under the new model.

    Views assign index keys. So a new index or another number of shards changes the code that a
    source's digest covers: its view files and what they import.
    """
    before = old["code"] if old else {}
    return tuple(
        source["name"]
        for source in new["sources"]
        if before.get(source["name"]) != new["code"][source["name"]] or source["name"] in changed
    )


def _by_name(model: Description | None, part: str) -> dict[str, Shape]:
    # Descriptions of releases before totals have none.
    return {shape["name"]: shape for shape in model.get(part, ())} if model else {}


def _plain(model: Any) -> Any:
    """Convert tuples to lists, so that a model equals itself after a JSON file."""
    return loads(dumps(model))
