"""What an event of a tumbling window says about its shard and its window, for the log."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any


def window_facts(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the shard, whether the invocation is the last of its window, and late records.

    Nothing depends on these facts but the shard. `adminview smoke` reads them from the log.
    """
    records: Sequence[Mapping[str, Any]] = event.get("Records") or []
    return {
        "shard": event.get("shardId"),
        "final": bool(event.get("isFinalInvokeForWindow")),
        "outside": _outside(event.get("window") or {}, records),
    }


def _outside(window: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> int:
    """Count the records that were written before the window began, or after it ended."""
    try:
        start, end = (datetime.fromisoformat(window[name]).timestamp() for name in ("start", "end"))
        times = [record["dynamodb"]["ApproximateCreationDateTime"] for record in records]
        return sum(1 for at in times if not start <= at < end)
    except (LookupError, TypeError, ValueError):
        return 0  # an event without a window, or of another form
