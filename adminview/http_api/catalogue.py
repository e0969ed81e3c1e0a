"""The catalogue of access patterns."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from adminview.model import AccessPattern, Registry
from adminview.model.key_condition import Comparison
from adminview.model.template import parameters

TYPES: Final = {"S": "string", "N": "number", "B": "base64"}
# What a text parameter probably is, by its name; a form may offer more than a text field. A range
# of times is often named `start` and `end`, or `since` and `until`.
HINTS: Final = {
    "datetime": re.compile(r"(.*_)?(at|time|timestamp)"),
    "month": re.compile(r"(.*_)?month"),
    "date": re.compile(r"(.*_)?(date|day|start|end|since|until)"),
}


def catalogue(registry: Registry, model: str, pending: Mapping[str, str | None]) -> dict[str, Any]:
    """List the access patterns with their parameters, and the model they belong to."""
    patterns = sorted(registry.patterns, key=lambda pattern: pattern.name)
    return {"model": model, "patterns": [describe(pattern, pending) for pattern in patterns]}


def describe(pattern: AccessPattern, pending: Mapping[str, str | None]) -> dict[str, Any]:
    """Describe an access pattern, with the index that serves it now."""
    index = pattern.index.name if pattern.index else None
    older = pending.get(pattern.name)  # of a total, an older epoch
    return {
        "name": pattern.name,
        "about": pattern.about,
        "parameters": [*_parameters(pattern)],
        "conditions": [_condition(comparison) for comparison in pattern.comparisons],
        "shows": list(pattern.shows),
        "joins": [join.name for join in pattern.joins],
        "total": pattern.total.name if pattern.total else None,
        "ranked": pattern.ranked,
        "group": [attribute.name for attribute in pattern.total.group] if pattern.total else [],
        "sums": [sum_.name for sum_ in pattern.total.sums] if pattern.total else [],
        "rankedBy": (pattern.total.ranked_by or None) if pattern.total else None,
        "index": index if pattern.total else older or index,
        "order": "desc" if pattern.descending else "asc",
        "consistent": pattern.consistent,
        "ready": pattern.name not in pending or older is not None,
    }


def _parameters(pattern: AccessPattern) -> Iterator[dict[str, Any]]:
    """Describe the parameters, each with the condition that it belongs to."""
    conditions = {
        name: _condition(comparison)
        for comparison in pattern.comparisons
        for template in comparison.templates
        for name in parameters(template)
    }
    for name, type_ in pattern.parameters.items():
        yield {
            "name": name,
            "type": TYPES[type_],
            "required": name in pattern.required,
            "hint": hint(name) if type_ == "S" else None,
            "condition": conditions[name],
        }


def hint(name: str) -> str | None:
    """Return which kind of time a parameter's name suggests: date, month, datetime or None."""
    return next((kind for kind, names in HINTS.items() if names.fullmatch(name.lower())), None)


def _condition(comparison: Comparison) -> str:
    return comparison.operator.format(comparison.attribute.name, *comparison.templates)
