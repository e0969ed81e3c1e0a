"""Updates of source tables: the only place that writes to them, for migrations alone."""

from functools import partial
from typing import TYPE_CHECKING, Any

from adminview.aws.attribute_codec import for_boto3
from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, call_with_retry
from adminview.aws.view_table import REFUSALS
from adminview.model.errors import MigrationError, ServiceError
from adminview.model.update import Update

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

MOVED = "ConditionalCheckFailedException"


class SourceUpdates:
    """Updates of single items, each on its condition."""

    def __init__(self, client: "DynamoDBClient", backoff: Backoff | None = None) -> None:
        self._client = client
        self._backoff = backoff or Backoff()

    def write(self, table: str, update: Update, *, deadline: Deadline) -> bool:
        """Set what is to be set, and tell whether the item was still what had been read of it.

        An update whose answer was lost on the way is told as False too: look at the item again.
        Raises a MigrationError if DynamoDB will never take it, as when the table has an index whose
        key would be of the wrong type, and a ServiceError if AWS goes on refusing.
        """
        asked: dict[str, Any] = update.arguments()
        values = for_boto3(asked.pop("ExpressionAttributeValues"))
        call = partial(
            self._client.update_item,
            TableName=table,
            Key=for_boto3(update.key),
            ExpressionAttributeValues=values,
            **asked,
        )
        try:
            call_with_retry(call, f"update an item of {table}", self._backoff, deadline)
        except ServiceError as error:
            if error.code in REFUSALS:
                msg = f"DynamoDB refused the update of an item: {error.code}"
                raise MigrationError(msg) from error
            if error.code != MOVED:
                raise
            return False
        return True
