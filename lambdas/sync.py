"""Lambda handler that turns DynamoDB stream records into view rows."""

from adminview.handlers import sync
from adminview.runtime import InvocationContext


def handler(event: sync.StreamEvent, context: InvocationContext) -> sync.PartialBatchResponse:
    """Sync one batch and return the record from which Lambda must redeliver, if any."""
    return sync.handle(event, context)
