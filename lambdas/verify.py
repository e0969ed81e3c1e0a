"""Lambda handler that compares a sample of the view with its sources."""

from collections.abc import Mapping
from typing import Any

from adminview.handlers import verify
from adminview.runtime import InvocationContext


def handler(event: Mapping[str, Any], context: InvocationContext) -> dict[str, Any]:
    """Verify a sample, and return the differences."""
    return verify.handle(event, context)
