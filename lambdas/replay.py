"""Lambda handler that replays dead letters."""

from collections.abc import Mapping
from typing import Any

from adminview.handlers import replay
from adminview.runtime import InvocationContext


def handler(event: Mapping[str, Any], context: InvocationContext) -> dict[str, Any]:
    """Replay the visible dead letters, and return a summary."""
    return replay.handle(event, context)
