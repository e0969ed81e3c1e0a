"""The questions, described for whoever asks them."""

from typing import Any, Final

from lambdas.model import AccessPattern, Registry

TYPES: Final = {"S": "string", "N": "number", "B": "base64"}


def catalogue(registry: Registry, model: str) -> dict[str, Any]:
    """List the questions with their parameters, and the model that they belong to."""
    found = sorted(registry.patterns, key=lambda one: one.name)
    return {"model": model, "patterns": [describe(pattern) for pattern in found]}


def describe(pattern: AccessPattern) -> dict[str, Any]:
    """Describe one question."""
    return {
        "name": pattern.name,
        "about": pattern.about,
        "parameters": [
            {"name": name, "type": TYPES[type_], "required": name in pattern.required}
            for name, type_ in pattern.parameters.items()
        ],
        "shows": list(pattern.shows),
        "joins": [join.name for join in pattern.joins],
        "index": pattern.index.name if pattern.index else None,
        "order": "desc" if pattern.descending else "asc",
        "consistent": pattern.consistent,
    }
