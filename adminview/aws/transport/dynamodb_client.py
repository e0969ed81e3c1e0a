"""The calls of a boto3 client that move items, made straight.

Whoever reads or writes items one by one, or whole tables, can be given this in a client's place: it
takes what a client takes, bytes among it, and what it gives needs no other look (`wire`). All else
that a client can do is left to one.
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

STRAIGHT = {
    "batch_get_item": "BatchGetItem",
    "batch_write_item": "BatchWriteItem",
    "delete_item": "DeleteItem",
    "get_item": "GetItem",
    "put_item": "PutItem",
    "query": "Query",
    "scan": "Scan",
    "update_item": "UpdateItem",
}
CHECKED = {*STRAIGHT.values()} - {"BatchWriteItem"}  # whoever writes rows looks at what is left


class DynamoDbHttpClient:
    """A boto3 client's stand-in; any number of threads may use it."""

    def __init__(self, direct: HttpClient, client: "Callable[[], DynamoDBClient]") -> None:
        self._direct = direct
        self._make = client

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Make a call straight if it moves items; leave any other to a client."""
        if name in STRAIGHT:
            return partial(self._call, STRAIGHT[name])
        call: Callable[..., Any] = getattr(self._client, name)
        return call

    def find_in_doubt(self) -> Sequence[Owners]:
        """Return the owners of each answered call that was found in doubt since last asked."""
        return self._direct.find_in_doubt()

    def keep_in_doubt(self, calls: Sequence[Owners], /) -> None:
        """Return *calls* again the next time, because they could not be reported."""
        self._direct.keep_in_doubt(calls)

    @cached_property
    def _client(self) -> "DynamoDBClient":
        return self._make()

    def _call(self, operation: str, **asked: Any) -> dict[str, Any]:
        if operation in SINGLE_ITEM and asked.get(CAPACITY, "NONE") == "NONE":
            asked[CAPACITY] = TOTAL
        response = self._direct.call(operation, dump_json(asked, _base64))
        if operation in CHECKED:
            check_match(operation, asked, response)
        return response


def _base64(value: object) -> str:
    """Spell bytes as DynamoDB wants them."""
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode()
    msg = f"a {type(value).__name__} is no JSON"
    raise TypeError(msg)
