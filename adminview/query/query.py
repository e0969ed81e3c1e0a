"""A question, filled in and ready to be asked."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from adminview.model import AccessPattern, KeyCondition
from adminview.model.attribute import PK, SK, Attribute
from adminview.model.errors import QuestionError
from adminview.model.row import Attributes, key_of
from adminview.query.cursor import Binding
from adminview.query.merge import sort_order


@dataclass(frozen=True, slots=True)
class Question:
    """A pattern with its parameters, ready to be asked in one order."""

    pattern: AccessPattern
    condition: KeyCondition
    descending: bool

    @classmethod
    def of(
        cls, pattern: AccessPattern, parameters: Mapping[str, Any], order: str | None = None
    ) -> "Question":
        """Fill a pattern in; *order* is ``asc`` or ``desc``, or as the pattern says."""
        if order not in (None, "asc", "desc"):
            msg = f"access pattern {pattern.name!r}: order is asc or desc"
            raise QuestionError(msg)
        descending = pattern.descending if order is None else order == "desc"
        return cls(pattern, pattern.condition(**parameters), descending)

    def asked_of(self, index: str) -> "Question":
        """Put the question to another index with the same key attributes."""
        return replace(self, condition=replace(self.condition, index=index))

    @property
    def conditions(self) -> list[KeyCondition]:
        """One key condition, or one for each shard of the index."""
        index = self.pattern.index
        if index is None or index.shard is None:
            return [self.condition]
        return [
            self.condition.at(index.shard, {"N": str(number)})
            for number in range(index.shards_read)
        ]

    @property
    def sort(self) -> tuple[Attribute, ...]:
        """What answers are sorted by."""
        return self.pattern.index.sort if self.pattern.index else (SK,)

    @property
    def key(self) -> tuple[Attribute, ...]:
        """What tells the rows of an answer apart, and where each stands."""
        index = self.pattern.index.stored_key if self.pattern.index else ()
        return tuple(dict.fromkeys((*index, PK, SK)))

    @property
    def binding(self) -> Binding:
        """What a cursor of this question is bound to.

        To the very index that is asked: nobody promises that two of them put rows of one key in the
        same order. Not to what is shown of a row: while a question moves to a new index that shows
        more, the cursors of the old one go on in the old one.
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
        asked = [pattern.name, condition.expression, condition.names, condition.values]
        question = [*place, *asked, self.descending, len(shards)]
        return Binding(pattern.name, question, shards, self.sort, (PK, SK))

    def position(self, row: Attributes) -> Attributes:
        """Say where a row stands."""
        return {one.name: row[one.name] for one in self.key}

    def is_past(self, row: Attributes, last: Attributes | None) -> bool:
        """Tell whether a row belongs before the last one that was shown, or is that one.

        It came there since; or it moved to another shard, and was shown already.
        """
        if last is None:
            return False
        here, there = (sort_order(one, self.sort) for one in (row, last))
        if here == there:
            return key_of(row) == key_of(last)
        return here > there if self.descending else here < there
