"""What differs between two models. Pure: it compares their descriptions."""

from collections.abc import Iterable
from dataclasses import dataclass
from json import dumps, loads
from typing import Any, TypeAlias

Description: TypeAlias = dict[str, Any]  # of a model, as `Registry.description()` gives it
Shape: TypeAlias = dict[str, Any]  # of a source, an index or a question
Names: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelDiff:
    """From one model to another: names, in the order of their declaration.

    An index is *changed* if DynamoDB would have to change it, which it cannot: its keys or its
    projection are others under the same name. It is *resharded* if it stays as it is and its rows
    move to another number of shards.
    """

    old: Description | None  # None: nothing is there yet
    new: Description
    new_questions: Names
    dropped_questions: Names
    changed_questions: Names
    new_indexes: Names
    dropped_indexes: Names
    changed_indexes: Names
    resharded_indexes: Names
    new_sources: Names
    dropped_sources: Names
    changed_sources: Names
    rebuilt: Names  # sources whose rows must be derived anew

    @classmethod
    def between(cls, old: Description | None, new: Description) -> "ModelDiff":
        """Compare two descriptions."""
        old, new = _plain(old), _plain(new)
        questions = _Pairs.of(old, new, "patterns")
        indexes = _Pairs.of(old, new, "indexes")
        sources = _Pairs.of(old, new, "sources")
        return cls(
            old,
            new,
            *(questions.new, questions.dropped, questions.changed),
            *(indexes.new, indexes.dropped),
            tuple(name for name in indexes.changed if _is_another(*indexes.both(name))),
            tuple(name for name in indexes.both_sides if _moves_rows(*indexes.both(name))),
            *(sources.new, sources.dropped, sources.changed),
            _rebuilt(old, new, sources.changed),
        )

    @property
    def nothing(self) -> bool:
        """Tell whether the two models are the same."""
        return self.old == self.new

    def question(self, name: str) -> tuple[Shape | None, Shape | None]:
        """Give a question as it was and as it is to be; None where there is none."""
        return self._sides("patterns", name)

    def index(self, name: str) -> tuple[Shape | None, Shape | None]:
        """Give an index as it was and as it is to be."""
        return self._sides("indexes", name)

    def source(self, name: str) -> tuple[Shape | None, Shape | None]:
        """Give a source as it was and as it is to be."""
        return self._sides("sources", name)

    def _sides(self, part: str, name: str) -> tuple[Shape | None, Shape | None]:
        return _by_name(self.old, part).get(name), _by_name(self.new, part).get(name)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The shapes of one kind, in both models."""

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
    """Take what DynamoDB knows of an index, and could not change."""
    # One number of shards is as good as another: the attribute that tells them apart is the same.
    key = (index["partition"], "shards" in index, index["sort"])
    return (*key, index["projection"], index["include"], index.get("local", False))


def _is_another(before: Shape, after: Shape) -> bool:
    """Tell whether DynamoDB would have to change an index."""
    return _as_stored(before) != _as_stored(after)


def _moves_rows(before: Shape, after: Shape) -> bool:
    """Tell whether rows move to other shards of an index that stays as it is."""
    if _is_another(before, after) or "shards" not in after:
        return False
    return bool(before["shards"][0] != after["shards"][0])  # the second is where they were before


def _rebuilt(old: Description | None, new: Description, changed: Iterable[str]) -> Names:
    """List the sources whose rows may be others under the new model.

    A row gets its places in indexes from its view, so an index that is new, or has another number
    of shards, changes the code that the digest of each source covers: its own view files, and
    those that they import. There is no need to look at the indexes themselves.
    """
    before = old["code"] if old else {}
    return tuple(
        source["name"]
        for source in new["sources"]
        if before.get(source["name"]) != new["code"][source["name"]] or source["name"] in changed
    )


def _by_name(model: Description | None, part: str) -> dict[str, Shape]:
    return {shape["name"]: shape for shape in model[part]} if model else {}


def _plain(model: Any) -> Any:
    """Make it as JSON gives it back, so that a model is equal to itself after a file."""
    return loads(dumps(model))
