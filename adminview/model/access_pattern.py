"""Access patterns: the named queries that AdminViewTable serves."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from adminview.model.attribute import PK, SK, Attribute
from adminview.model.errors import DeclarationError, QueryError, RowError
from adminview.model.index import Index
from adminview.model.item import AttributeValue, order
from adminview.model.join import Join
from adminview.model.key_condition import (
    EQUAL,
    Comparison,
    KeyAttributes,
    KeyRules,
    KeyTemplates,
    Range,
    promise_problems,
)
from adminview.model.limits import PARTITION_LIMIT, SORT_LIMIT, size_of
from adminview.model.row import DATA, TOTALS
from adminview.model.template import Template, fill, parameters, several
from adminview.model.total import RANKING, Total

BOUNDS = "ab"  # suffixes of the placeholders of a range's two values
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class KeyCondition:
    """A key condition on the table or on one index, with its parameters filled in."""

    index: str | None
    expression: str
    names: dict[str, str]
    values: dict[str, AttributeValue]

    def at(self, attribute: Attribute, value: AttributeValue) -> "KeyCondition":
        """Return the condition restricted to one shard."""
        return replace(
            self,
            expression=f"#shard = :shard AND {self.expression}",
            names={**self.names, "#shard": attribute.name},
            values={**self.values, ":shard": value},
        )


@dataclass(frozen=True, slots=True)
class AccessPattern:
    """A named query with typed parameters, served by one key condition.

    Templates name their parameters: ``partition="USER#{user_id}"``. A multi-attribute index takes
    one template per attribute, in order or by name (``{"tenantId": "{tenant}"}``): *partition* for
    all of its partition attributes, *sort* for as many leading sort attributes as the query fixes,
    and at most one range on the next one: *sort_begins*, *sort_between*, *sort_from* (>=),
    *sort_after* (>), *sort_until* (<=) or *sort_before* (<). A query may omit the parameters that
    *optional* names; they must belong to the last conditions. Without one bound of *sort_between*,
    the range is open at that end. *sort_begins* and *sort_between* stay within the text before
    their parameters: ``CONCERT#{date}`` finds no row whose sort key begins otherwise.

    A template escapes its parameters as `key` escapes its parts, so rows keyed with
    ``key("USER", user_id)`` are found by ``USER#{user_id}`` for every user id. A parameter that is
    the whole template (``{status}``) is compared as it is. ``{name:raw}`` stays unescaped too, for
    keys that are copied from the source or made with ``key(..., raw=...)``.

    A pattern on a *total* returns one row per group: its `data` has the group, the count, the sums
    and their averages. *partition* has a template for each partition attribute of the total, and
    the sort conditions are on its sort attribute. With *ranked*, the groups of a partition come in
    the order of the total's `ranked_by`, and the sort conditions are on that.

    *shows* lists the attributes that every returned row has besides its key. *joins* adds related
    rows. *consistent* requests strongly consistent reads, which a global index does not support.

    Raises a DeclarationError if the index cannot serve the pattern.
    """

    name: str
    partition: KeyTemplates = ()
    sort: KeyTemplates = ()
    sort_begins: Template | None = None
    sort_between: tuple[Template, Template] | None = None
    sort_from: Template | None = None
    sort_after: Template | None = None
    sort_until: Template | None = None
    sort_before: Template | None = None
    optional: Sequence[str] = ()
    index: Index | None = None
    total: Total | None = None
    ranked: bool = False
    shows: Sequence[str] = (DATA,)
    joins: Sequence[Join] = ()
    descending: bool = False
    consistent: bool = False
    about: str = ""
    _comparisons: tuple[Comparison, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("shows", "optional"):
            object.__setattr__(self, name, several(getattr(self, name)))
        object.__setattr__(self, "joins", tuple(self.joins))
        if self.index is not None and not isinstance(self.index, Index):
            msg = (
                f"access pattern {self.name!r}: index must be an Index, not {self.index!r}; "
                "pass the variable that holds it"
            )
            raise DeclarationError(msg)
        problems = [] if NAME.fullmatch(self.name) else [NAME_RULE]
        problems += self._total_problems()
        rules = KeyRules(self._keys(), self.partition, self.sort, self._ranges(), self.optional)
        problems += rules.problems()
        if not self.total:
            problems += promise_problems(self.index, self.shows)
        keys = self.total.group if self.total else self.index.key if self.index else ()
        problems += [problem for join in self.joins for problem in join.problems(keys)]
        if len({join.name for join in self.joins}) < len(self.joins):
            problems.append("two joins have the same name")
        if self.consistent and self.index and not self.index.local:
            problems.append("a global index cannot be read consistently")
        for problem in problems:
            msg = f"access pattern {self.name!r} on {self.place}: {problem}"
            raise DeclarationError(msg)
        object.__setattr__(self, "_comparisons", tuple(rules.comparisons()))
        if self.total:
            object.__setattr__(self, "index", RANKING if self.ranked else None)

    @property
    def place(self) -> str:
        if self.total:
            return f"total {self.total.name!r}"
        return f"index {self.index.name!r}" if self.index else "the table"

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters with their DynamoDB types, in the order of their conditions."""
        types: dict[str, str] = {}
        for comparison in self._comparisons:
            for template in comparison.templates:
                types.update(dict.fromkeys(parameters(template), comparison.attribute.type))
        return types

    @property
    def required(self) -> list[str]:
        return [name for name in self.parameters if name not in self.optional]

    def condition(self, /, **arguments: object) -> KeyCondition:
        """Fill in the parameters; raises a QueryError if they do not fit the pattern."""
        self._check(arguments)
        names: dict[str, str] = {}
        values: dict[str, AttributeValue] = {}
        parts = []
        comparisons = self._applicable(arguments)
        if self.total:
            # The groups of one partition have one key, made of all partition attributes.
            count = len(self.total.partition)
            partition = self._partition_of_total(comparisons[:count], arguments)
            names["#k0"], values[":v0a"] = PK.name, partition
            parts.append(EQUAL.format("#k0", ":v0a"))
            comparisons = comparisons[count:]
        for position, comparison in enumerate(comparisons, start=len(parts)):
            names[f"#k{position}"] = self._stored(comparison.attribute)
            placeholders = [
                f":v{position}{suffix}"
                for suffix, _ in zip(BOUNDS, comparison.templates, strict=False)
            ]
            filled = [
                self._fill(template, comparison.attribute, arguments)
                for template in comparison.templates
            ]
            self._check_order(comparison, filled)
            values.update(zip(placeholders, filled, strict=True))
            parts.append(comparison.operator.format(f"#k{position}", *placeholders))
        index = self.index.name if self.index else None
        return KeyCondition(index, " AND ".join(parts), names, values)

    def at_epoch(self, epoch: int) -> "AccessPattern":
        """Return the pattern on another epoch of its total."""
        assert self.total
        return replace(self, total=self.total.at(epoch))

    def may_show(self, row: Mapping[str, AttributeValue]) -> bool:
        """Return whether the pattern can return *row*, or count it, for some parameters."""
        if self.total:
            return any(map(self.total.has, row.get(TOTALS, {}).get("M", {})))
        keys = self.index.stored_key if self.index else ()
        in_index = all(key.name in row for key in keys)
        return in_index and all(
            comparison.may_fit(row) or self._may_omit(comparison)
            for comparison in self._comparisons
        )

    def fitting(self, row: Mapping[str, AttributeValue]) -> int:
        """Return how many leading conditions *row* fits for some parameters, optional ones too."""
        fits = [comparison.may_fit(row) for comparison in self._comparisons]
        return [*fits, False].index(False)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The conditions in the order of their key attributes."""
        return self._comparisons

    def shape(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "index": self.index.name if self.index and not self.total else None,
            **({"total": self.total.name, "ranked": self.ranked} if self.total else {}),
            "conditions": [
                [comparison.operator.format(comparison.attribute.name, *comparison.templates)]
                for comparison in self._comparisons
            ],
            "optional": sorted(self.optional),
            "shows": sorted(self.shows),
            "joins": [join.shape() for join in self.joins],
            "descending": self.descending,
            "consistent": self.consistent,
        }

    def _keys(self) -> KeyAttributes:
        if not self.total:
            return KeyAttributes.of(self.index)
        sort = self.total.sort
        if self.ranked and self.total.ranked_by:
            sort = (self.total.rank_attribute,)
        return KeyAttributes(self.total.partition, sort)

    def _may_omit(self, comparison: Comparison) -> bool:
        """Return whether a query may leave out the condition, or one end of its range.

        A condition with a fixed text keeps it, so it finds no rows that it could never find whole.
        """
        if comparison.beginning:
            return False
        names = [name for template in comparison.templates for name in parameters(template)]
        return not set(self.optional).isdisjoint(names)

    def _stored(self, attribute: Attribute) -> str:
        """Return the name of a key attribute in its table."""
        if not self.total:
            return attribute.name
        return RANKING.sort[0].name if self.ranked else SK.name

    def _partition_of_total(
        self, comparisons: Sequence[Comparison], arguments: Mapping[str, object]
    ) -> AttributeValue:
        assert self.total
        texts = [
            self._fill(comparison.templates[0], comparison.attribute, arguments)["S"]
            for comparison in comparisons
        ]
        partition = {"S": self.total.partition_key(texts)}
        if (size := size_of(partition)) > PARTITION_LIMIT:
            names = ", ".join(attribute.name for attribute in self.total.partition)
            reason = f"{names} make a key of {size} bytes; at most {PARTITION_LIMIT}"
            raise self._refusal(reason)
        return partition

    def _total_problems(self) -> Iterator[str]:
        if self.total is None:
            if self.ranked:
                yield "ranked needs a total"
            return
        if not isinstance(self.total, Total):
            msg = f"access pattern {self.name!r}: total must be a Total, not {self.total!r}"
            raise DeclarationError(msg)
        if self.index not in (None, RANKING):
            yield "it queries either an index or a total, not both"
        if tuple(self.shows) != (DATA,):
            yield "shows applies to rows; a total always returns its group, count and sums"
        if self.ranked and not self.total.ranked_by:
            yield f"total {self.total.name!r} is not ranked; declare it with ranked_by"
        if self.ranked and self.consistent:
            yield "a ranking is a global index, which cannot be read consistently"

    def _check(self, values: Mapping[str, object]) -> None:
        """Raise a QueryError that names missing and unknown parameters."""
        expected = self.parameters
        missing = [name for name in self.required if name not in values]
        unknown = [name for name in values if name not in expected]
        wrong = [f"{name} is missing" for name in missing]
        wrong += [f"{name} is unknown" for name in unknown]
        if wrong:
            takes = ", ".join(f"[{name}]" if name in self.optional else name for name in expected)
            msg = (
                f"access pattern {self.name!r} takes ({takes or 'no parameters'}); "
                f"{', '.join(wrong)}"
            )
            raise QueryError(msg)

    def _applicable(self, values: Mapping[str, object]) -> list[Comparison]:
        """Return the leading conditions that have values; raise a QueryError for a gap."""
        applicable: list[Comparison] = []
        left_out: tuple[Comparison, list[str]] | None = None
        for declared in self._comparisons:
            comparison = declared.with_values(values)
            names = [name for template in comparison.templates for name in parameters(template)]
            missing = [name for name in names if name not in values]
            if missing and left_out is None:
                left_out = comparison, missing
            if left_out and len(missing) < len(names):
                earlier, absent = left_out
                order = f"{earlier.attribute.name!r} comes before {comparison.attribute.name!r}"
                msg = (
                    f"access pattern {self.name!r} on {self.place}: "
                    f"{', '.join(absent)} is missing"
                    + (f"; {order}" if earlier is not comparison else "")
                )
                raise QueryError(msg)
            if left_out is None:
                applicable.append(comparison)
        return applicable

    def _fill(
        self, template: Template, attribute: Attribute, values: Mapping[str, object]
    ) -> AttributeValue:
        try:
            value = fill(template, attribute, values)
            size = size_of(value)
        except (RowError, UnicodeEncodeError) as error:
            raise self._refusal(str(error)) from error
        partition = self._keys().partition
        limit = PARTITION_LIMIT if attribute in partition else SORT_LIMIT
        if size > limit:
            names = ", ".join(parameters(template))
            msg = f"{names} makes {attribute.name!r} {size} bytes long; DynamoDB takes {limit}"
            raise self._refusal(msg)
        return value

    def _check_order(self, comparison: Comparison, values: Sequence[AttributeValue]) -> None:
        """Refuse reversed bounds: DynamoDB's own error does not name the parameters."""
        if len(values) == len(BOUNDS):
            lower, upper = (order(value) for value in values)
            if lower > upper:
                first, second = comparison.templates
                names = parameters(first) + parameters(second)
                raise self._refusal(" comes after ".join(names) or EMPTY_RANGE)

    def _refusal(self, reason: str) -> QueryError:
        msg = f"access pattern {self.name!r}: {reason}"
        return QueryError(msg)

    def _ranges(self) -> list[Range]:
        ranges: list[tuple[str, Template | tuple[Template, ...] | None]] = [
            ("begins_with({}, {})", self.sort_begins),
            ("{} BETWEEN {} AND {}", self.sort_between),
            ("{} >= {}", self.sort_from),
            ("{} > {}", self.sort_after),
            ("{} <= {}", self.sort_until),
            ("{} < {}", self.sort_before),
        ]
        return [
            Range(operator, several(templates))
            for operator, templates in ranges
            if templates is not None
        ]


EMPTY_RANGE = "the lower bound of its range is above the upper bound"
NAME_RULE = "a name must be lower-case words joined by hyphens, such as 'orders-by-status'"
