"""Lambda handler that starts to build the rows of a newly deployed model."""

from collections.abc import Mapping
from typing import Any

from adminview.handlers import build
from adminview.runtime import InvocationContext


def handler(event: Mapping[str, Any], context: InvocationContext) -> dict[str, Any]:
    """Start a build if rows are missing, and report what is not ready."""
    return build.handle(event, context)
