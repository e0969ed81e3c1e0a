"""Access patterns: the named questions that AdminViewTable answers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from adminview.model.attribute import PK, Attribute
from adminview.model.errors import DeclarationError, QuestionError, RowError
from adminview.model.index import Index
from adminview.model.item import AttributeValue, order
from adminview.model.join import Join
from adminview.model.key_condition import Comparison, Given, KeyRules, Range
from adminview.model.limits import PARTITION_LIMIT, SORT_LIMIT, size_of
from adminview.model.row import DATA
from adminview.model.template import Template, fill, parameters, several

BOUNDS = "ab"  # the marks of the two values of a range
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class KeyCondition:
    """A question ready to be asked: one key condition on the table or on one index."""

    index: str | None
    expression: str
    names: dict[str, str]
    values: dict[str, AttributeValue]

    def at(self, attribute: Attribute, value: AttributeValue) -> "KeyCondition":
        """Ask one shard."""
        return replace(
            self,
            expression=f"#shard = :shard AND {self.expression}",
            names={**self.names, "#shard": attribute.name},
            values={**self.values, ":shard": value},
        )


@dataclass(frozen=True, slots=True)
class AccessPattern:
    """A question with typed parameters, answered by one key condition.

    Templates name their parameters: ``partition="USER#{user_id}"``. A multi-attribute index takes
    one template per attribute, in order or by name (``{"tenantId": "{tenant}"}``): *partition* for
    all of its partition attributes, *sort* for as many leading sort attributes as the question
    fixes, and at most one range on the next one: *sort_begins*, *sort_between*, *sort_from* (>=),
    *sort_after* (>), *sort_until* (<=) or *sort_before* (<). The parameters that *optional* names,
    of the last conditions, may be left out.

    A template escapes its parameters as `key` escapes its parts, so rows keyed with
    ``key("USER", user_id)`` are found by ``USER#{user_id}`` for every user id. A parameter that is
    the whole template (``{status}``) is compared as it is. ``{name:raw}`` stays unescaped too, for
    keys that are copied from the source or made with ``key(..., raw=...)``.

    *shows* is what the answer promises of each row, besides its key; *joins* are rows to show
    beside it. *consistent* reads what was just written, which a global index cannot.
    """

    name: str
    partition: Given
    sort: Given = ()
    sort_begins: Template | None = None
    sort_between: tuple[Template, Template] | None = None
    sort_from: Template | None = None
    sort_after: Template | None = None
    sort_until: Template | None = None
    sort_before: Template | None = None
    optional: Sequence[str] = ()
    index: Index | None = None
    shows: Sequence[str] = (DATA,)
    joins: Sequence[Join] = ()
    descending: bool = False
    consistent: bool = False
    about: str = ""
    _comparisons: tuple[Comparison, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the question against the rules of its index, once and early."""
        for name in ("shows", "optional"):
            object.__setattr__(self, name, several(getattr(self, name)))
        object.__setattr__(self, "joins", tuple(self.joins))
        if self.index is not None and not isinstance(self.index, Index):
            msg = f"access pattern {self.name!r}: index is an Index, not {self.index!r}"
            raise DeclarationError(msg)
        rules = KeyRules(self.index, self.partition, self.sort, self._ranges(), self.optional)
        problems = [] if NAME.fullmatch(self.name) else [NAME_RULE]
        problems += [*rules.problems(), *rules.promise_problems(self.shows)]
        problems += [problem for join in self.joins for problem in join.problems(self.index)]
        if len({join.name for join in self.joins}) < len(self.joins):
            problems.append("two joins have one name")
        if self.consistent and self.index and not self.index.local:
            problems.append("a global index cannot be read consistently")
        for problem in problems:
            msg = f"access pattern {self.name!r} on {self.place}: {problem}"
            raise DeclarationError(msg)
        object.__setattr__(self, "_comparisons", tuple(rules.comparisons()))

    @property
    def place(self) -> str:
        """Name what the question is put to."""
        return f"index {self.index.name!r}" if self.index else "the table"

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters that it takes, with their DynamoDB types."""
        found: dict[str, str] = {}
        for one in self._comparisons:
            for template in one.templates:
                found.update(dict.fromkeys(parameters(template), one.attribute.type))
        return found

    @property
    def required(self) -> list[str]:
        """The parameters that it cannot do without."""
        return [name for name in self.parameters if name not in self.optional]

    def condition(self, /, **given: object) -> KeyCondition:
        """Fill the question in, or say which parameters it takes."""
        self._check(given)
        names: dict[str, str] = {}
        values: dict[str, AttributeValue] = {}
        parts = []
        for position, one in enumerate(self._asked(given)):
            names[f"#k{position}"] = one.attribute.name
            marks = [
                f":v{position}{letter}" for letter, _ in zip(BOUNDS, one.templates, strict=False)
            ]
            filled = [self._fill(template, one.attribute, given) for template in one.templates]
            self._check_order(one, filled)
            values.update(zip(marks, filled, strict=True))
            parts.append(one.operator.format(f"#k{position}", *marks))
        index = self.index.name if self.index else None
        return KeyCondition(index, " AND ".join(parts), names, values)

    def may_show(self, row: Mapping[str, AttributeValue]) -> bool:
        """Tell whether a row can be in an answer, whatever the parameters."""
        keys = self.index.stored_key if self.index else ()
        there = all(key.name in row for key in keys)
        return there and all(one.may_fit(row) for one in self._comparisons)

    def shape(self) -> dict[str, Any]:
        """Describe the pattern as plain data, for the model's fingerprint."""
        return {
            "name": self.name,
            "index": self.index.name if self.index else None,
            "conditions": [
                [one.operator.format(one.attribute.name, *one.templates)]
                for one in self._comparisons
            ],
            "optional": sorted(self.optional),
            "shows": sorted(self.shows),
            "joins": [join.shape() for join in self.joins],
            "descending": self.descending,
            "consistent": self.consistent,
        }

    def _check(self, given: Mapping[str, object]) -> None:
        """Refuse parameters that are missing or unknown, and name them."""
        expected = self.parameters
        missing = [name for name in self.required if name not in given]
        unknown = [name for name in given if name not in expected]
        wrong = [f"{name} is missing" for name in missing]
        wrong += [f"{name} is unknown" for name in unknown]
        if wrong:
            takes = ", ".join(f"[{one}]" if one in self.optional else one for one in expected)
            msg = (
                f"access pattern {self.name!r} takes ({takes or 'no parameters'}); "
                f"{', '.join(wrong)}"
            )
            raise QuestionError(msg)

    def _asked(self, given: Mapping[str, object]) -> list[Comparison]:
        """Choose the conditions that are given: the first ones, without a gap."""
        asked: list[Comparison] = []
        left_out: tuple[Comparison, list[str]] | None = None
        for one in self._comparisons:
            names = [name for template in one.templates for name in parameters(template)]
            missing = [name for name in names if name not in given]
            if missing and left_out is None:
                left_out = one, missing
            if left_out and len(missing) < len(names):
                attribute, absent = left_out
                order = f"{attribute.attribute.name!r} comes before {one.attribute.name!r}"
                msg = (
                    f"access pattern {self.name!r} on {self.place}: {', '.join(absent)} is missing"
                    + (f"; {order}" if attribute is not one else "")
                )
                raise QuestionError(msg)
            if left_out is None:
                asked.append(one)
        return asked

    def _fill(
        self, template: Template, attribute: Attribute, given: Mapping[str, object]
    ) -> AttributeValue:
        """Make one value, as DynamoDB takes it."""
        try:
            value = fill(template, attribute, given)
            size = size_of(value)
        except (RowError, UnicodeEncodeError) as error:
            raise self._refusal(str(error)) from error
        partition = self.index.partition if self.index else (PK,)
        limit = PARTITION_LIMIT if attribute in partition else SORT_LIMIT
        if size > limit:
            names = ", ".join(parameters(template))
            msg = f"{names} makes {size} bytes for {attribute.name!r}; DynamoDB takes {limit}"
            raise self._refusal(msg)
        return value

    def _check_order(self, one: Comparison, values: Sequence[AttributeValue]) -> None:
        """Refuse a range the wrong way round, of which DynamoDB says little."""
        if len(values) == len(BOUNDS):
            lower, upper = (order(value) for value in values)
            if lower > upper:
                first, second = one.templates
                names = parameters(first) + parameters(second)
                raise self._refusal(" comes after ".join(names) or EMPTY_RANGE)

    def _refusal(self, why: str) -> QuestionError:
        msg = f"access pattern {self.name!r}: {why}"
        return QuestionError(msg)

    def _ranges(self) -> list[Range]:
        """Collect the range, of which there may be one."""
        ranges: list[tuple[str, Template | tuple[Template, ...] | None]] = [
            ("begins_with({}, {})", self.sort_begins),
            ("{} BETWEEN {} AND {}", self.sort_between),
            ("{} >= {}", self.sort_from),
            ("{} > {}", self.sort_after),
            ("{} <= {}", self.sort_until),
            ("{} < {}", self.sort_before),
        ]
        return [Range(operator, several(given)) for operator, given in ranges if given is not None]


EMPTY_RANGE = "its range goes from the higher to the lower"
NAME_RULE = "a pattern's name is lower-case words joined by hyphens"
