"""Lambda handler that replays dead letters."""

from collections.abc import Mapping
from typing import Any

from adminview.handlers import replay
from adminview.runtime import Invocation


def handler(event: Mapping[str, Any], context: Invocation) -> dict[str, Any]:
    """Replay the dead letters that are ready, and return what became of them."""
    return replay.handle(event, context)
