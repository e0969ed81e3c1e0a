"""Access patterns: the named questions that AdminViewTable answers."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from lambdas.model.attribute import Attribute
from lambdas.model.errors import DeclarationError, QuestionError
from lambdas.model.index import Index
from lambdas.model.item import AttributeValue
from lambdas.model.row import DATA, PK, RESERVED, SK
from lambdas.model.template import Template, fill, parameters, problems, several

BOUNDS = "ab"  # the marks of the two values of a range
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

Comparison: TypeAlias = tuple[str, Attribute, tuple[Template, ...]]


@dataclass(frozen=True, slots=True)
class KeyCondition:
    """A question ready to be asked: one key condition on the table or on one index."""

    index: str | None
    expression: str
    names: dict[str, str]
    values: dict[str, AttributeValue]


@dataclass(frozen=True, slots=True)
class AccessPattern:
    """A question with typed parameters, answered by one key condition.

    Templates name their parameters: ``partition="USER#{user_id}"``. A multi-attribute index takes
    one template per attribute: *partition* for all of its partition attributes, *sort* for as many
    leading sort attributes as the question fixes, and at most one range on the next one.
    *shows* is what the answer promises of each row, besides its key.
    """

    name: str
    partition: Template | Sequence[Template]
    sort: Template | Sequence[Template] = ()
    sort_begins: Template | None = None
    sort_between: tuple[Template, Template] | None = None
    sort_from: Template | None = None
    index: Index | None = None
    shows: Sequence[str] = (DATA,)
    newest_first: bool = False
    about: str = ""
    _comparisons: tuple[Comparison, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the question against the rules of its index, once and early."""
        object.__setattr__(self, "shows", several(self.shows))
        if self.index is not None and not isinstance(self.index, Index):
            msg = f"access pattern {self.name!r}: index is an Index, not {self.index!r}"
            raise DeclarationError(msg)
        for problem in self._problems():
            msg = f"access pattern {self.name!r} on {self.place}: {problem}"
            raise DeclarationError(msg)
        object.__setattr__(self, "_comparisons", tuple(self._compare()))

    @property
    def place(self) -> str:
        """Name what the question is put to."""
        return f"index {self.index.name!r}" if self.index else "the table"

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters to be given, with their DynamoDB types."""
        found: dict[str, str] = {}
        for _, attribute, templates in self._comparisons:
            for template in templates:
                found.update(dict.fromkeys(parameters(template), attribute.type))
        return found

    def condition(self, /, **given: object) -> KeyCondition:
        """Fill the question in, or say which parameters it takes."""
        expected = self.parameters
        if given.keys() != expected.keys():
            msg = (
                f"access pattern {self.name!r} takes ({', '.join(expected) or 'no parameters'}); "
                f"given were ({', '.join(given) or 'none'})"
            )
            raise QuestionError(msg)
        names: dict[str, str] = {}
        values: dict[str, AttributeValue] = {}
        parts = []
        for position, (comparison, attribute, templates) in enumerate(self._comparisons):
            names[f"#k{position}"] = attribute.name
            marks = [f":v{position}{letter}" for letter, _ in zip(BOUNDS, templates, strict=False)]
            for mark, template in zip(marks, templates, strict=True):
                values[mark] = self._fill(template, attribute, given)
            parts.append(comparison.format(f"#k{position}", *marks))
        index = self.index.name if self.index else None
        return KeyCondition(index, " AND ".join(parts), names, values)

    def shape(self) -> dict[str, Any]:
        """Describe the pattern as plain data, for the model's fingerprint."""
        return {
            "name": self.name,
            "index": self.index.name if self.index else None,
            "conditions": [
                [comparison.format(attribute.name, *templates)]
                for comparison, attribute, templates in self._comparisons
            ],
            "shows": sorted(self.shows),
            "newest_first": self.newest_first,
        }

    def _fill(
        self, template: Template, attribute: Attribute, given: Mapping[str, object]
    ) -> AttributeValue:
        value = fill(template, attribute, given)
        if value is None:
            msg = (
                f"access pattern {self.name!r}: ({', '.join(parameters(template))}) must make "
                f"a non-empty {attribute.type} for {attribute.name!r}"
            )
            raise QuestionError(msg)
        return value

    def _keys(self) -> tuple[tuple[Attribute, ...], tuple[Attribute, ...]]:
        return (self.index.partition, self.index.sort) if self.index else ((PK,), (SK,))

    def _range(self) -> list[tuple[str, tuple[Template, ...]]]:
        """Collect the range, of which there may be one."""
        ranges: list[tuple[str, Template | tuple[Template, ...] | None]] = [
            ("begins_with({}, {})", self.sort_begins),
            ("{} BETWEEN {} AND {}", self.sort_between),
            ("{} >= {}", self.sort_from),
        ]
        return [(comparison, several(given)) for comparison, given in ranges if given is not None]

    def _compare(self) -> Iterator[Comparison]:
        """Pair each key attribute that the question fixes with its templates."""
        partition, sort = self._keys()
        for attribute, template in zip(partition, several(self.partition), strict=True):
            yield "{} = {}", attribute, (template,)
        fixed = several(self.sort)
        for attribute, template in zip(sort, fixed, strict=False):
            yield "{} = {}", attribute, (template,)
        for comparison, templates in self._range():
            yield comparison, sort[len(fixed)], templates

    def _problems(self) -> Iterator[str]:
        """Find what DynamoDB would refuse, or answer with less than promised."""
        if not NAME.fullmatch(self.name):
            yield "a pattern's name is lower-case words joined by hyphens"
        yield from self._key_problems()
        yield from self._template_problems()
        for attribute in self.shows:
            if self.index and not self._carries(attribute):
                yield f"it promises {attribute!r}, which the index does not carry"
            if not self.index and attribute not in RESERVED:
                yield f"it promises {attribute!r}, which no row has"

    def _key_problems(self) -> Iterator[str]:
        """Hold the rules of key conditions."""
        partition, sort = self._keys()
        given, fixed, ranges = several(self.partition), several(self.sort), self._range()
        if len(given) != len(partition):
            names = ", ".join(attribute.name for attribute in partition)
            yield f"all of ({names}) must be given; {len(given)} of {len(partition)} are"
        if self.sort_between and len(self.sort_between) != len(BOUNDS):
            yield f"sort_between takes {len(BOUNDS)} templates, not {len(self.sort_between)}"
        if len(ranges) > 1:
            yield "one range at most (sort_begins, sort_between or sort_from)"
        if len(fixed) + len(ranges) > len(sort):
            names = ", ".join(attribute.name for attribute in sort) or "none"
            yield f"{len(fixed) + len(ranges)} sort conditions for its sort attributes ({names})"
        elif self.sort_begins is not None and sort[len(fixed)].type == "N":
            yield f"{sort[len(fixed)].name!r} is N, and a number does not begin with anything"

    def _template_problems(self) -> Iterator[str]:
        types: dict[str, str] = {}
        for attribute, template in self._templates():
            yield from problems(attribute, template)
            for name in parameters(template):
                first = types.setdefault(name, attribute.type)
                if first != attribute.type:
                    yield f"parameter {name!r} would have to be both {first} and {attribute.type}"

    def _carries(self, attribute: str) -> bool:
        assert self.index
        return self.index.carries(attribute) or attribute in {PK.name, SK.name}

    def _templates(self) -> Iterator[tuple[Attribute, Template]]:
        """Pair key attributes and templates as far as they go; their number is checked apart."""
        partition, sort = self._keys()
        yield from zip(partition, several(self.partition), strict=False)
        yield from zip(sort, several(self.sort), strict=False)
        rest = sort[len(several(self.sort)) :]
        for _, templates in self._range():
            yield from ((attribute, template) for attribute in rest[:1] for template in templates)
