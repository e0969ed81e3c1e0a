"""A replacement for a boto3 client that reads and writes items with the direct HTTP client.

It takes the arguments of a boto3 client, with binary values as bytes, and returns DynamoDB JSON as
Lambda delivers it. A boto3 client makes all other calls.
"""

from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from adminview.aws.call_owners import Owners
from adminview.aws.responses import CAPACITY, SINGLE_ITEM, TOTAL
from adminview.aws.transport.http_client import HttpClient
from adminview.aws.transport.matching import check_match
from adminview.model.json_codec import dump_json

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

DIRECT_CALLS = {
    "batch_get_item": "BatchGetItem",
    "batch_write_item": "BatchWriteItem",
    "delete_item": "DeleteItem",
    "get_item": "GetItem",
    "put_item": "PutItem",
    "query": "Query",
    "scan": "Scan",
    "update_item": "UpdateItem",
}
CHECKED = {*DIRECT_CALLS.values()} - {"BatchWriteItem"}  # the writer checks UnprocessedItems


class DynamoDbHttpClient:
    """Replaces a boto3 client; thread-safe."""

    def __init__(self, direct: HttpClient, client: "Callable[[], DynamoDBClient]") -> None:
        self._direct = direct
        self._make = client

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a direct call if it reads or writes items, else the boto3 client's method."""
        if name in DIRECT_CALLS:
            return partial(self._call, DIRECT_CALLS[name])
        call: Callable[..., Any] = getattr(self._client, name)
        return call

    def find_in_doubt(self) -> Sequence[Owners]:
        return self._direct.find_in_doubt()

    def keep_in_doubt(self, calls: Sequence[Owners], /) -> None:
        self._direct.keep_in_doubt(calls)

    @cached_property
    def _client(self) -> "DynamoDBClient":
        return self._make()

    def _call(self, operation: str, **request: Any) -> dict[str, Any]:
        if operation in SINGLE_ITEM and request.get(CAPACITY, "NONE") == "NONE":
            request[CAPACITY] = TOTAL
        response = self._direct.call(operation, dump_json(request, _base64))
        if operation in CHECKED:
            check_match(operation, request, response)
        return response


def _base64(value: object) -> str:
    """Encode bytes as base64; raises a TypeError for other types."""
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode()
    msg = f"a {type(value).__name__} cannot be written as JSON"
    raise TypeError(msg)
