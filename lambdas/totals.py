"""Lambda handler that adds the changes of rows to the totals."""

from collections.abc import Mapping
from typing import Any

from adminview.handlers import totals
from adminview.runtime import InvocationContext


def handler(event: Mapping[str, Any], context: InvocationContext) -> totals.WindowResponse:
    """Add one batch to the totals and return the record from which Lambda must redeliver."""
    return totals.handle(event, context)
