"""What an event of a tumbling window says about its shard and its window, for the log."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any


def window_facts(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the shard, whether the invocation is the last of its window, and the order in time.

    Nothing depends on these facts but the shard. `adminview smoke` reads them from the log.
    """
    records: Sequence[Mapping[str, Any]] = event.get("Records") or []
    return {
        "shard": event.get("shardId"),
        "final": bool(event.get("isFinalInvokeForWindow")),
        "outside": _outside(event.get("window") or {}, records),
        "disorder_seconds": _disorder(records),
    }


def _outside(window: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> int:
    """Count the records that were written before the window began, or after it ended."""
    try:
        start, end = (datetime.fromisoformat(window[name]).timestamp() for name in ("start", "end"))
        times = [record["dynamodb"]["ApproximateCreationDateTime"] for record in records]
        return sum(1 for at in times if not start <= at < end)
    except (LookupError, TypeError, ValueError):
        return 0  # an event without a window, or of another form


def _disorder(records: Sequence[Mapping[str, Any]]) -> float:
    """Return by how many seconds a record is older than one before it, at most."""
    newest = most = 0.0
    for record in records:
        at = float(record["dynamodb"]["ApproximateCreationDateTime"])
        newest = max(newest, at)
        most = max(most, newest - at)
    return most
