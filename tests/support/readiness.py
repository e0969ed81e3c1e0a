"""The record of what is built, as an item of the progress table."""

import json
from typing import Any

from adminview.bulk.lease_table import BUILT
from adminview.bulk.runs import BACKFILL
from adminview.model import Registry
from adminview.model.readiness import FACTS, PATTERNS, READY, contents


def record_item(registry: Registry, *, without: tuple[str, ...] = (), **facts: Any) -> Any:
    """Record that all access patterns are built, but those *without*."""
    built = contents(registry.shape())
    patterns = {name: content for name, content in built.items() if name not in without}
    record = {"model": registry.fingerprint, PATTERNS: patterns, **facts}
    return {"PK": {"S": READY}, "SK": {"S": PATTERNS}, FACTS: {"S": json.dumps(record)}}


def completion_items(registry: Registry, *, without: tuple[str, ...] = ()) -> list[Any]:
    """Record that all sources are backfilled by this model, but those *without*."""
    code = registry.description()["code"]
    return [
        {
            "PK": {"S": BUILT},
            "SK": {"S": f"{BACKFILL}/{source}"},
            "facts": {"S": json.dumps({"model": registry.fingerprint, "code": code[source]})},
        }
        for source in code
        if source not in without
    ]
