"""A query: an access pattern with its parameters and order."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from typing import Any

from adminview.model import AccessPattern, KeyCondition
from adminview.model.attribute import PK, SK, Attribute
from adminview.model.errors import QueryError
from adminview.model.item import order as value_order
from adminview.model.row import Attributes, key_of
from adminview.query.cursor import Binding


@dataclass(frozen=True, slots=True)
class Query:
    """An access pattern with its parameters, in one order."""

    pattern: AccessPattern
    condition: KeyCondition
    descending: bool

    @classmethod
    def of(
        cls, pattern: AccessPattern, parameters: Mapping[str, Any], order: str | None = None
    ) -> "Query":
        """Bind parameters; *order* is ``asc``, ``desc`` or None for the pattern's own."""
        if order not in (None, "asc", "desc"):
            msg = f"access pattern {pattern.name!r}: order must be asc or desc"
            raise QueryError(msg)
        descending = pattern.descending if order is None else order == "desc"
        return cls(pattern, pattern.condition(**parameters), descending)

    def on_index(self, index: str) -> "Query":
        """Return the same query on another index with the same key attributes."""
        return replace(self, condition=replace(self.condition, index=index))

    @property
    def conditions(self) -> list[KeyCondition]:
        """Return one key condition, or one for each shard of the index."""
        index = self.pattern.index
        if index is None or index.shard is None:
            return [self.condition]
        return [
            self.condition.at(index.shard, {"N": str(number)})
            for number in range(index.shards_read)
        ]

    @property
    def sort(self) -> tuple[Attribute, ...]:
        """Return the attributes that results are sorted by."""
        return self.pattern.index.sort if self.pattern.index else (SK,)

    @property
    def key(self) -> tuple[Attribute, ...]:
        """Return the attributes that identify a row of the result and its position."""
        index = self.pattern.index.stored_key if self.pattern.index else ()
        return tuple(dict.fromkeys((*index, PK, SK)))

    @property
    def binding(self) -> Binding:
        """Return what a cursor of this query is bound to.

        It includes the index: two indexes may order rows of equal sort keys differently. It does
        not include the projection: while an access pattern moves to a new index that projects more,
        cursors of the old index stay valid there.
        """
        pattern, condition = self.pattern, self.condition
        partition = pattern.index.partition if pattern.index else (PK,)
        fixed = {
            attribute.name: condition.values[f":v{position}a"]
            for position, attribute in enumerate(partition)
        }
        shard = pattern.index.shard if pattern.index else None
        shards = [
            {**fixed, **({shard.name: {"N": str(number)}} if shard else {})}
            for number in range(len(self.conditions))
        ]
        place = [condition.index, [[key.name, key.type] for key in self.key]]
        query = [pattern.name, condition.expression, condition.names, condition.values]
        bound = [*place, *query, self.descending, len(shards)]
        return Binding(pattern.name, bound, shards, self.sort, (PK, SK))

    def position(self, row: Attributes) -> Attributes:
        return {attribute.name: row[attribute.name] for attribute in self.key}

    def is_past(self, row: Attributes, last: Attributes | None) -> bool:
        """Return whether a row sorts before the last returned row, or is that row.

        It was written since then, or it was already returned and moved to another shard.
        """
        if last is None:
            return False
        position, end = sort_order(row, self.sort), sort_order(last, self.sort)
        if position == end:
            return key_of(row) == key_of(last)
        return position > end if self.descending else position < end


def merged(
    runs: Sequence[Iterable[Attributes]], sort: Sequence[Attribute], *, descending: bool
) -> Iterator[tuple[int, Attributes]]:
    """Merge sorted runs and yield each row with the number of its run, which breaks ties."""
    numbered = [_numbered(number, run) for number, run in enumerate(runs)]
    return merge(*numbered, key=lambda pair: sort_order(pair[1], sort), reverse=descending)


def _numbered(number: int, run: Iterable[Attributes]) -> Iterator[tuple[int, Attributes]]:
    for row in run:
        yield number, row


def sort_order(row: Attributes, sort: Sequence[Attribute]) -> tuple[Any, ...]:
    """Return what a row is compared by."""
    return tuple(value_order(row[attribute.name]) for attribute in sort)
