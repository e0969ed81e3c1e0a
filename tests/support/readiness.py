"""The record of what is built, as an item of the progress table."""

import json
from typing import Any

from adminview.model import Registry
from adminview.model.readiness import FACTS, PATTERNS, READY, contents


def record_item(registry: Registry, *, without: tuple[str, ...] = (), **facts: Any) -> Any:
    """Record that all access patterns are built, but those *without*."""
    built = contents(registry.shape())
    patterns = {name: content for name, content in built.items() if name not in without}
    record = {"model": registry.fingerprint, PATTERNS: patterns, **facts}
    return {"PK": {"S": READY}, "SK": {"S": PATTERNS}, FACTS: {"S": json.dumps(record)}}
