"""Compare the descriptions of two models."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from json import dumps, loads
from typing import Any, Final, TypeAlias

Description: TypeAlias = dict[str, Any]  # of a model: `Registry.description()`
Shape: TypeAlias = dict[str, Any]  # of a source, an index, an access pattern or a total
Names: TypeAlias = tuple[str, ...]

PARTS: Final = ("patterns", "indexes", "sources", "totals")  # of a description


@dataclass(frozen=True, slots=True)
class PartDiff:
    """The declarations of one kind in both models, by name in the order of declaration."""

    before: dict[str, Shape]
    after: dict[str, Shape]

    @classmethod
    def of(cls, old: Description | None, new: Description, part: str) -> "PartDiff":
        return cls(_by_name(old, part), _by_name(new, part))

    @property
    def new(self) -> Names:
        return tuple(name for name in self.after if name not in self.before)

    @property
    def dropped(self) -> Names:
        return tuple(name for name in self.before if name not in self.after)

    @property
    def changed(self) -> Names:
        return self.both(lambda before, after: before != after)

    def both(self, fit: Callable[[Shape, Shape], bool]) -> Names:
        """Return the names in both models whose shapes before and after *fit*."""
        both = (name for name in self.after if name in self.before)
        return tuple(name for name in both if fit(self.before[name], self.after[name]))


@dataclass(frozen=True, slots=True)
class ModelDiff:
    """The difference between two models.

    A total is changed if its declaration differs in any way, its epochs included.
    """

    old: Description | None  # None: nothing is deployed yet
    new: Description
    patterns: PartDiff
    indexes: PartDiff
    sources: PartDiff
    totals: PartDiff
    rebuilt: Names  # sources whose rows must be derived again

    @classmethod
    def between(cls, old: Description | None, new: Description) -> "ModelDiff":
        old, new = _plain(old), _plain(new)
        patterns, indexes, sources, totals = (PartDiff.of(old, new, part) for part in PARTS)
        rebuilt = _rebuilt(old, new, sources.changed)
        return cls(old, new, patterns, indexes, sources, totals, rebuilt)

    @property
    def is_empty(self) -> bool:
        return self.old == self.new

    @property
    def replaced_indexes(self) -> Names:
        """The indexes with another key or projection, which DynamoDB cannot change."""
        return self.indexes.both(_is_another)

    @property
    def resharded_indexes(self) -> Names:
        """The indexes of which only the number of shards differs: their rows move."""
        return self.indexes.both(_moves_rows)


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
