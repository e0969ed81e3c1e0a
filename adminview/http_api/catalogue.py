"""The catalogue of access patterns."""

from collections.abc import Mapping
from typing import Any, Final

from adminview.model import AccessPattern, Registry

TYPES: Final = {"S": "string", "N": "number", "B": "base64"}


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
        "parameters": [
            {"name": name, "type": TYPES[type_], "required": name in pattern.required}
            for name, type_ in pattern.parameters.items()
        ],
        "shows": list(pattern.shows),
        "joins": [join.name for join in pattern.joins],
        "total": pattern.total.name if pattern.total else None,
        "ranked": pattern.ranked,
        "index": index if pattern.total else older or index,
        "order": "desc" if pattern.descending else "asc",
        "consistent": pattern.consistent,
        "beingBuilt": pattern.name in pending and older is None,
    }
