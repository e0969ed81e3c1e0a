"""DynamoDB's rules for key conditions, checked when an access pattern is declared."""

import re
import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from adminview.model.attribute import PK, SK, Attribute
from adminview.model.index import Index
from adminview.model.item import AttributeValue
from adminview.model.row import RESERVED
from adminview.model.template import (
    Template,
    any_value,
    fixed_beginning,
    parameters,
    problems,
    several,
)

# One template, several in order, or several by attribute name.
KeyTemplates: TypeAlias = Template | Sequence[Template] | Mapping[str, Template]

PAGING_PARAMETERS = ("limit", "cursor", "order")
EQUAL = "{} = {}"
FROM, UNTIL = "{} >= {}", "{} <= {}"
BEGINS = "begins_with({}, {})"
BETWEEN = "{} BETWEEN {} AND {}"
LOWER_BOUNDS = {FROM, "{} > {}"}
UPPER_BOUNDS = {UNTIL, "{} < {}"}
LAST_CHARACTER = chr(sys.maxunicode)  # comes after all others, in UTF-8 too


@dataclass(frozen=True, slots=True)
class Range:
    """A range condition on the next sort attribute."""

    operator: str
    templates: tuple[Template, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A condition on one key attribute."""

    operator: str
    attribute: Attribute
    templates: tuple[Template, ...]

    def may_fit(self, row: Mapping[str, AttributeValue]) -> bool:
        """Return whether a row can match for some parameters, judged by the fixed text."""
        value = row.get(self.attribute.name, {}).get("S")
        if value is None:
            return True
        if self.operator in {EQUAL, BEGINS}:
            pattern = any_value(self.templates[0]) + (".*" if self.operator == BEGINS else "")
            return re.fullmatch(pattern, value, re.DOTALL) is not None
        # A bound begins with its fixed text. Code points are ordered as their UTF-8 bytes are.
        first, last = (fixed_beginning(self.templates[position]) for position in (0, -1))
        is_above = self.operator in UPPER_BOUNDS or value >= first
        is_below = self.operator in LOWER_BOUNDS or value[: len(last)] <= last
        return is_above and is_below

    @property
    def beginning(self) -> str:
        """The text before the parameters of a range with two ends, if both have the same."""
        beginnings = {fixed_beginning(template) for template in self.templates}
        is_bounded = self.operator in {BEGINS, BETWEEN}  # the others have one end, as in DynamoDB
        return beginnings.pop() if is_bounded and len(beginnings) == 1 else ""

    def with_values(self, values: Container[str]) -> "Comparison":
        """Return the condition with an end of a range open if *values* lacks its parameters.

        An open end stays within the fixed text: other rows of the partition may have other texts.
        """
        present = [
            all(name in values for name in parameters(template)) for template in self.templates
        ]
        if all(present):
            return self
        text = self.beginning.replace("{", "{{").replace("}", "}}")
        if not any(present):
            return Comparison(BEGINS, self.attribute, (text,)) if text else self
        (end,) = (template for template, has in zip(self.templates, present, strict=True) if has)
        is_lower = present[0]
        if not text:
            return Comparison(FROM if is_lower else UNTIL, self.attribute, (end,))
        ends = (end, text + LAST_CHARACTER) if is_lower else (text, end)
        return Comparison(BETWEEN, self.attribute, ends)


@dataclass(frozen=True, slots=True)
class KeyAttributes:
    """The key attributes that an access pattern has conditions on."""

    partition: tuple[Attribute, ...]
    sort: tuple[Attribute, ...]

    @staticmethod
    def of(index: Index | None) -> "KeyAttributes":
        """Return those of an index, or of the table."""
        return KeyAttributes(index.partition, index.sort) if index else KeyAttributes((PK,), (SK,))


@dataclass(frozen=True, slots=True)
class KeyRules:
    """The declared key condition of an access pattern, and the key it is on."""

    keys: KeyAttributes
    partition: KeyTemplates
    sort: KeyTemplates
    ranges: Sequence[Range]
    optional: Sequence[str]

    def comparisons(self) -> Iterator[Comparison]:
        """Yield the conditions in the order of their key attributes."""
        partition, sort = self.keys.partition, self.keys.sort
        for attribute, template in zip(partition, _ordered(partition, self.partition), strict=True):
            yield Comparison(EQUAL, attribute, (template,))
        fixed = _ordered(sort, self.sort)
        for attribute, template in zip(sort, fixed, strict=False):
            yield Comparison(EQUAL, attribute, (template,))
        for range_ in self.ranges:
            yield Comparison(range_.operator, sort[len(fixed)], range_.templates)

    def problems(self) -> Iterator[str]:
        """Yield what DynamoDB would refuse."""
        partition, sort = self.keys.partition, self.keys.sort
        structural = [
            *_names_problems("partition", partition, self.partition),
            *_names_problems("sort", sort, self.sort),
            *self._partition_problems(partition),
            *self._sort_problems(sort),
            *self._template_problems(),
        ]
        yield from structural or self._optional_problems()

    def _partition_problems(self, partition: tuple[Attribute, ...]) -> Iterator[str]:
        templates = _ordered(partition, self.partition)
        if missing := partition[len(templates) :]:
            yield f"partition must set all of ({_names(partition)}); {_names(missing)} is missing"
        if len(templates) > len(partition):
            yield f"{len(templates)} templates for its partition attributes ({_names(partition)})"

    def _sort_problems(self, sort: tuple[Attribute, ...]) -> Iterator[str]:
        fixed = _ordered(sort, self.sort)
        for range_ in self.ranges:
            takes = range_.operator.count("{}") - 1
            if len(range_.templates) != takes:
                name = "sort_between" if range_.operator == BETWEEN else "a range"
                yield f"{name} takes {takes} templates, not {len(range_.templates)}"
        if len(self.ranges) > 1:
            yield "declare at most one range (sort_begins, sort_between, sort_from …)"
        count = len(fixed) + len(self.ranges)
        if count > len(sort):
            yield f"{count} sort conditions for its sort attributes ({_names(sort) or 'none'})"
        elif self.ranges and self.ranges[0].operator == BEGINS and sort[len(fixed)].type == "N":
            yield f"{sort[len(fixed)].name!r} is a number (N): sort_begins needs text or binary"

    def _template_problems(self) -> Iterator[str]:
        types: dict[str, str] = {}
        for attribute, template in self._templates():
            unreadable = [*problems(attribute, template)]
            unreadable += [
                f"a parameter cannot be named {name!r}: every query takes it for paging"
                for name in (() if unreadable else parameters(template))
                if name in PAGING_PARAMETERS
            ]
            yield from unreadable
            for name in () if unreadable else parameters(template):
                first = types.setdefault(name, attribute.type)
                if first != attribute.type:
                    yield f"parameter {name!r} would have to be both {first} and {attribute.type}"

    def _optional_problems(self) -> Iterator[str]:
        """Yield optional parameters that do not belong to the last sort conditions."""
        partition = self.keys.partition
        names = [
            [name for _, template in (pair,) for name in parameters(template)]
            for pair in self._templates()
        ]
        fixed = {name for group in names[: len(partition)] for name in group}
        known = {name for group in names for name in group}
        for name in self.optional:
            if name not in known:
                yield (
                    f"optional names {name!r}, which is not a parameter; "
                    f"the parameters are {', '.join(sorted(known)) or 'none'}"
                )
            elif name in fixed:
                yield f"{name!r} cannot be optional: a query needs all partition attributes"
        for condition in map(set, names[len(partition) :]):
            if condition & set(self.optional) and not condition <= set(self.optional):
                both = " and ".join(sorted(condition))
                yield f"{both} are in one template: make both optional, or neither"
        fixed_count = len(names) - sum(len(range_.templates) for range_ in self.ranges)
        conditions = [*names[:fixed_count], [*self._range_names()]]
        optional = [bool(set(group) & set(self.optional)) for group in conditions if group]
        if sorted(optional) != optional:
            yield "only the last conditions can be optional: sort conditions cannot have a gap"

    def _range_names(self) -> set[str]:
        return {
            name
            for range_ in self.ranges
            for template in range_.templates
            for name in parameters(template)
        }

    def _templates(self) -> Iterator[tuple[Attribute, Template]]:
        """Pair key attributes with templates; other methods check their number."""
        partition, sort = self.keys.partition, self.keys.sort
        yield from zip(partition, _ordered(partition, self.partition), strict=False)
        fixed = _ordered(sort, self.sort)
        yield from zip(sort, fixed, strict=False)
        rest = sort[len(fixed) :]
        for range_ in self.ranges:
            yield from (
                (attribute, template) for attribute in rest[:1] for template in range_.templates
            )


def promise_problems(index: Index | None, shows: Sequence[str]) -> Iterator[str]:
    """Yield the attributes in *shows* that rows of the index, or of the table, do not have."""
    for attribute in shows:
        if index and not (index.carries(attribute) or attribute in {PK.name, SK.name}):
            yield (
                f"shows {attribute!r}, which the index does not include; "
                f'add include=["{attribute}"] to the index, or shows=() to the pattern'
            )
        if not index and attribute not in RESERVED:
            yield f"shows {attribute!r}, which no row has"


def _ordered(attributes: Sequence[Attribute], templates: KeyTemplates) -> tuple[Template, ...]:
    """Put templates in the order of their attributes, up to the first missing one."""
    if not isinstance(templates, Mapping):
        return several(templates)
    ordered = []
    for attribute in attributes:
        if attribute.name not in templates:
            break
        ordered.append(templates[attribute.name])
    return tuple(ordered)


def _names_problems(
    side: str, attributes: Sequence[Attribute], templates: KeyTemplates
) -> Iterator[str]:
    """Yield unknown attribute names, and gaps between known ones."""
    if not isinstance(templates, Mapping):
        return
    known = [attribute.name for attribute in attributes]
    for name in templates:
        if name not in known:
            yield f"{name!r} is not a {side} attribute; declared are ({', '.join(known)})"
    missing = ""
    for name in known:
        if name not in templates:
            missing = missing or name
        elif missing:
            yield f"{side} attribute {missing!r} is missing: it comes before {name!r}"


def _names(attributes: Sequence[Attribute]) -> str:
    return ", ".join(attribute.name for attribute in attributes)
