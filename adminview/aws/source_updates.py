"""Updates source tables for migrations. No other module writes to them."""

from typing import TYPE_CHECKING, Any

from adminview.aws.attribute_codec import for_boto3
from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, call_with_retry
from adminview.aws.view_table import REFUSALS
from adminview.model.errors import MigrationError, ServiceError
from adminview.model.migration import Update

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

CONDITION_FAILED = "ConditionalCheckFailedException"


class SourceUpdates:
    """Writes conditional updates of single items."""

    def __init__(self, client: "DynamoDBClient", backoff: Backoff | None = None) -> None:
        self._client = client
        self._backoff = backoff or Backoff()

    def write(self, table: str, update: Update, *, deadline: Deadline) -> bool:
        """Write *update*; return whether its condition held.

        It may also return False if the response to a successful attempt was lost: read the item
        again. Raises a MigrationError if DynamoDB will never accept the update (a wrong type for an
        index key, for example), and a ServiceError if AWS keeps refusing.
        """
        arguments: dict[str, Any] = update.arguments()
        values = for_boto3(arguments.pop("ExpressionAttributeValues"))
        arguments |= {"TableName": table, "Key": for_boto3(update.key)}
        arguments["ExpressionAttributeValues"] = values
        call, action = self._client.update_item, f"update an item of {table}"
        try:
            call_with_retry(call, action, self._backoff, deadline, **arguments)
        except ServiceError as error:
            if error.code in REFUSALS:
                msg = f"DynamoDB refused the update of an item: {error.code}"
                raise MigrationError(msg) from error
            if error.code != CONDITION_FAILED:
                raise
            return False
        return True
