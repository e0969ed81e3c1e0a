"""Links from a row to queries, along the keys that the access patterns declare. Pure.

A key attribute of the row that matches the partition template of an access pattern (`USER#u-1`,
`USER#{user_id}`) fills in its parameters. So does an attribute of the row's data with the name of a
parameter that ends in `id` (`orderId`, `order_id`): other names, such as `status`, mean different
things in different rows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from adminview.model import AccessPattern, Registry
from adminview.model.item import AttributeValue
from adminview.model.key_condition import EQUAL, Comparison
from adminview.model.limits import PARTITION_LIMIT
from adminview.model.row import DATA, RESERVED, Attributes, RowKey
from adminview.model.template import Template, parameters, values_in

MOST_LINKS: Final = 100
MOST_VALUES: Final = 500  # of a row's data that are considered
BY_KEY, BY_NAME = "key", "name"


@dataclass(frozen=True, slots=True)
class Link:
    """A query with the parameters that a row fills in, and the required ones that it lacks."""

    pattern: AccessPattern
    parameters: Mapping[str, str]
    because: str
    basis: str

    @property
    def missing(self) -> list[str]:
        return [name for name in self.pattern.required if name not in self.parameters]

    def as_dict(self) -> dict[str, Any]:
        return {
            "pattern": self.pattern.name,
            "about": self.pattern.about,
            "parameters": dict(self.parameters),
            "missing": self.missing,
            "because": self.because,
            "basis": self.basis,
        }


def links(row: Attributes, registry: Registry) -> list[Link]:
    """Return the queries that a row leads to; those without missing parameters come first."""
    keys = _keys(row)
    values = _values(row)
    links: dict[tuple[str, tuple[tuple[str, str], ...]], Link] = {}
    for pattern in sorted(registry.patterns, key=lambda pattern: pattern.name):
        for link in (*_by_key(pattern, keys, values), *_by_name(pattern, values)):
            links.setdefault((pattern.name, tuple(sorted(link.parameters.items()))), link)
    ordered = sorted(links.values(), key=lambda link: (len(link.missing), link.basis))
    return ordered[:MOST_LINKS]


def joined_rows(row: Attributes, registry: Registry) -> Iterator[tuple[str, AccessPattern, RowKey]]:
    """Yield the rows that access patterns join to this row: the join's name, its pattern, a key."""
    seen: set[tuple[str, RowKey]] = set()
    for pattern in registry.patterns:
        if pattern.total or not pattern.may_show(row):
            continue
        for join in pattern.joins:
            key = join.key(row)
            if key and (join.name, key) not in seen:
                seen.add((join.name, key))
                yield join.name, pattern, key


def _keys(row: Attributes) -> dict[str, str]:
    """Return the text key attributes of a row: PK, SK and its index keys."""
    hidden = RESERVED - {"PK", "SK"}
    return {name: value["S"] for name, value in row.items() if "S" in value and name not in hidden}


def _values(row: Attributes) -> dict[str, tuple[str, str]]:
    """Return the scalar values in a row's data by normalized name, each with its own name."""
    values: dict[str, tuple[str, str]] = {}
    pending = [("", row.get(DATA, {"M": {}}))]
    considered = 0
    while pending and considered < MOST_VALUES:
        name, value = pending.pop(0)
        ((kind, content),) = value.items()
        considered += 1
        if kind == "M":
            pending += content.items()
        elif kind == "L":
            pending += [("", element) for element in content if "M" in element]
        elif text := _text(kind, content):
            values.setdefault(_normalized(name), (name, text))
    return values


def _text(kind: str, content: Any) -> str:
    """Return a value that can be a parameter; "" for all others."""
    if kind not in {"S", "N"}:
        return ""
    try:
        return content if 0 < len(content.encode()) <= PARTITION_LIMIT else ""
    except UnicodeEncodeError:
        return ""


def _by_key(
    pattern: AccessPattern, keys: Mapping[str, str], values: Mapping[str, tuple[str, str]]
) -> Iterator[Link]:
    """Yield a link for each key attribute that matches the partition of the pattern."""
    comparison = _partition(pattern)
    if comparison is None:
        return
    template = comparison.templates[0]
    for name, value in keys.items():
        # A parameter that is the whole template matches any text: only its own attribute counts.
        if _is_bare(template) and name != comparison.attribute.name:
            continue
        if filled := values_in(template, value):
            more = _rest(pattern, filled, keys, values)
            yield Link(pattern, filled | more, f"{name} matches {template}", BY_KEY)


def _by_name(pattern: AccessPattern, values: Mapping[str, tuple[str, str]]) -> Iterator[Link]:
    """Yield a link if the data has an attribute for each parameter of the first condition."""
    comparison = next(iter(pattern.comparisons), None)
    if comparison is None or comparison.operator != EQUAL:
        return
    names = parameters(comparison.templates[0])
    known = {name: values.get(_normalized(name)) for name in names}
    if not names or not all(known.values()) or not all(map(_is_id, names)):
        return
    filled = {name: value[1] for name, value in known.items() if value}
    because = ", ".join(f"{value[0]} is {name}" for name, value in known.items() if value)
    yield Link(pattern, filled | _rest(pattern, filled, {}, values), because, BY_NAME)


def _rest(
    pattern: AccessPattern,
    filled: Mapping[str, str],
    keys: Mapping[str, str],
    values: Mapping[str, tuple[str, str]],
) -> dict[str, str]:
    """Return the other required parameters that the row has a value for."""
    rest: dict[str, str] = {}
    for comparison in pattern.comparisons:
        for name in parameters(comparison.templates[0]):
            if name in filled or name not in pattern.required:
                continue
            if comparison.operator == EQUAL and comparison.attribute.name in keys:
                rest |= values_in(comparison.templates[0], keys[comparison.attribute.name]) or {}
            elif _normalized(name) in values and _is_id(name):
                rest[name] = values[_normalized(name)][1]
    return rest


def _partition(pattern: AccessPattern) -> Comparison | None:
    """Return the condition on the first partition attribute; None if it has no text parameter."""
    if pattern.total:
        return None
    comparison = pattern.comparisons[0]
    usable = comparison.attribute.type == "S" and parameters(comparison.templates[0])
    return comparison if usable else None


def _is_bare(template: Template) -> bool:
    names = parameters(template)
    return len(names) == 1 and template.startswith("{") and template.endswith("}")


def _is_id(name: str) -> bool:
    return _normalized(name).endswith("id")


def _normalized(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def scalar(value: AttributeValue) -> str:
    """Return the text of a key value."""
    ((_, content),) = value.items()
    return str(content)
