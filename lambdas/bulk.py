"""Lambda handler of backfills, sweeps, verifications and migrations."""

from collections.abc import Mapping
from typing import Any

from adminview.handlers import bulk
from adminview.runtime import InvocationContext


def handler(event: Mapping[str, Any], context: InvocationContext) -> dict[str, Any]:
    """Begin a run, or work on one segment of it."""
    return bulk.handle(event, context)
