"""What DynamoDB asks of a key condition, checked when a question is declared."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from adminview.model.attribute import PK, SK, Attribute
from adminview.model.index import Index
from adminview.model.item import AttributeValue
from adminview.model.row import RESERVED
from adminview.model.template import Template, any_value, parameters, problems, several

# One template, several in order, or several by the names of their attributes.
Given: TypeAlias = Template | Sequence[Template] | Mapping[str, Template]

TAKEN = ("limit", "cursor", "order")
EQUAL = "{} = {}"
BEGINS = "begins_with({}, {})"
BETWEEN = "{} BETWEEN {} AND {}"


@dataclass(frozen=True, slots=True)
class Range:
    """A comparison that more than one value may pass."""

    operator: str
    templates: tuple[Template, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A key attribute, and what it is compared with."""

    operator: str
    attribute: Attribute
    templates: tuple[Template, ...]

    def may_fit(self, row: Mapping[str, AttributeValue]) -> bool:
        """Tell whether a row can meet it for some parameters: by the fixed parts of a text."""
        value = row.get(self.attribute.name, {}).get("S")
        if value is None or self.operator not in {EQUAL, BEGINS}:
            return True
        pattern = any_value(self.templates[0]) + (".*" if self.operator == BEGINS else "")
        return re.fullmatch(pattern, value, re.DOTALL) is not None


@dataclass(frozen=True, slots=True)
class KeyRules:
    """A question as it was declared, and what it is put to."""

    index: Index | None
    partition: Given
    sort: Given
    ranges: Sequence[Range]
    optional: Sequence[str]

    def comparisons(self) -> Iterator[Comparison]:
        """Pair each key attribute that the question fixes with its templates, in order."""
        partition, sort = self._keys()
        for attribute, template in zip(partition, _ordered(partition, self.partition), strict=True):
            yield Comparison(EQUAL, attribute, (template,))
        fixed = _ordered(sort, self.sort)
        for attribute, template in zip(sort, fixed, strict=False):
            yield Comparison(EQUAL, attribute, (template,))
        for one in self.ranges:
            yield Comparison(one.operator, sort[len(fixed)], one.templates)

    def problems(self) -> Iterator[str]:
        """Find what DynamoDB would refuse; what cannot even be read, before all else."""
        partition, sort = self._keys()
        found = [
            *_names_problems("partition", partition, self.partition),
            *_names_problems("sort", sort, self.sort),
            *self._partition_problems(partition),
            *self._sort_problems(sort),
            *self._template_problems(),
        ]
        yield from found or self._optional_problems()

    def promise_problems(self, shows: Sequence[str]) -> Iterator[str]:
        """Find what the answer would have less of than promised."""
        for attribute in shows:
            if self.index and not (
                self.index.carries(attribute) or attribute in {PK.name, SK.name}
            ):
                yield f"it promises {attribute!r}, which the index does not carry"
            if not self.index and attribute not in RESERVED:
                yield f"it promises {attribute!r}, which no row has"

    def _keys(self) -> tuple[tuple[Attribute, ...], tuple[Attribute, ...]]:
        return (self.index.partition, self.index.sort) if self.index else ((PK,), (SK,))

    def _partition_problems(self, partition: tuple[Attribute, ...]) -> Iterator[str]:
        given = _ordered(partition, self.partition)
        if missing := partition[len(given) :]:
            yield f"all of ({_names(partition)}) must be given; {_names(missing)} is missing"
        if len(given) > len(partition):
            yield f"{len(given)} templates for its partition attributes ({_names(partition)})"

    def _sort_problems(self, sort: tuple[Attribute, ...]) -> Iterator[str]:
        fixed = _ordered(sort, self.sort)
        for one in self.ranges:
            takes = one.operator.count("{}") - 1
            if len(one.templates) != takes:
                name = "sort_between" if one.operator == BETWEEN else "a range"
                yield f"{name} takes {takes} templates, not {len(one.templates)}"
        if len(self.ranges) > 1:
            yield "one range at most (sort_begins, sort_between, sort_from …)"
        count = len(fixed) + len(self.ranges)
        if count > len(sort):
            yield f"{count} sort conditions for its sort attributes ({_names(sort) or 'none'})"
        elif self.ranges and self.ranges[0].operator == BEGINS and sort[len(fixed)].type == "N":
            yield f"{sort[len(fixed)].name!r} is N, and a number does not begin with anything"

    def _template_problems(self) -> Iterator[str]:
        types: dict[str, str] = {}
        for attribute, template in self._templates():
            unreadable = [*problems(attribute, template)]
            unreadable += [
                f"a parameter cannot be named {name!r}: every question takes it for its pages"
                for name in (() if unreadable else parameters(template))
                if name in TAKEN
            ]
            yield from unreadable
            for name in () if unreadable else parameters(template):
                first = types.setdefault(name, attribute.type)
                if first != attribute.type:
                    yield f"parameter {name!r} would have to be both {first} and {attribute.type}"

    def _optional_problems(self) -> Iterator[str]:
        """Hold that only the last sort conditions may be left out."""
        partition, _ = self._keys()
        names = [
            [name for _, template in (pair,) for name in parameters(template)]
            for pair in self._templates()
        ]
        fixed = {name for some in names[: len(partition)] for name in some}
        known = {name for some in names for name in some}
        for name in self.optional:
            if name not in known:
                yield f"optional names {name!r}, which is no parameter"
            elif name in fixed:
                yield f"{name!r} cannot be optional: all partition attributes must be given"
        for some in (*(set(group) for group in names[len(partition) :]), self._range_names()):
            if some & set(self.optional) and not some <= set(self.optional):
                left = ", ".join(sorted(some - set(self.optional)))
                yield f"{left} belongs to the same condition as what is optional, and is not"
        optional = [bool(set(some) & set(self.optional)) for some in names if some]
        if sorted(optional) != optional:
            yield "only the last conditions can be optional: sort attributes have no gap"

    def _range_names(self) -> set[str]:
        return {
            name
            for one in self.ranges
            for template in one.templates
            for name in parameters(template)
        }

    def _templates(self) -> Iterator[tuple[Attribute, Template]]:
        """Pair key attributes and templates as far as they go; their number is checked apart."""
        partition, sort = self._keys()
        yield from zip(partition, _ordered(partition, self.partition), strict=False)
        fixed = _ordered(sort, self.sort)
        yield from zip(sort, fixed, strict=False)
        rest = sort[len(fixed) :]
        for one in self.ranges:
            yield from (
                (attribute, template) for attribute in rest[:1] for template in one.templates
            )


def _ordered(attributes: Sequence[Attribute], given: Given) -> tuple[Template, ...]:
    """Put templates in the order of their attributes; up to the first that is missing."""
    if not isinstance(given, Mapping):
        return several(given)
    ordered = []
    for attribute in attributes:
        if attribute.name not in given:
            break
        ordered.append(given[attribute.name])
    return tuple(ordered)


def _names_problems(side: str, attributes: Sequence[Attribute], given: Given) -> Iterator[str]:
    """Find names that are no attributes, and gaps between those that are."""
    if not isinstance(given, Mapping):
        return
    known = [attribute.name for attribute in attributes]
    for name in given:
        if name not in known:
            yield f"{name!r} is no {side} attribute of it; those are ({', '.join(known)})"
    missing = ""
    for name in known:
        if name not in given:
            missing = missing or name
        elif missing:
            yield f"{side} attribute {missing!r} is missing: it comes before {name!r}"


def _names(attributes: Sequence[Attribute]) -> str:
    return ", ".join(attribute.name for attribute in attributes)
