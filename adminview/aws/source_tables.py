"""Reads source tables. Only `source_updates` writes to them, for migrations."""

from typing import TYPE_CHECKING, Any

from adminview.aws.attribute_codec import for_boto3, from_boto3
from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, call_with_retry
from adminview.model.item import AttributeValue, Image

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class SourceReader:
    """Reads single items of source tables."""

    def __init__(self, client: "DynamoDBClient", backoff: Backoff | None = None) -> None:
        self._client = client
        self._backoff = backoff or Backoff()

    def read(
        self, table: str, key: dict[str, AttributeValue], *, deadline: Deadline
    ) -> Image | None:
        """Read an item consistently; None if it does not exist."""
        request: Any = {"TableName": table, "Key": for_boto3(key), "ConsistentRead": True}
        call, action = self._client.get_item, f"read an item of {table}"
        item = call_with_retry(call, action, self._backoff, deadline, **request).get("Item")
        return from_boto3(item) if item else None
