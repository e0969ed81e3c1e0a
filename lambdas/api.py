"""Lambda handler of the HTTP API."""

from collections.abc import Mapping
from typing import Any

from adminview.handlers import api
from adminview.runtime import InvocationContext


def handler(event: Mapping[str, Any], context: InvocationContext) -> dict[str, Any]:
    """Answer one request of the gateway."""
    return api.handle(event, context)
