"""Check that a response comes from DynamoDB, and tell which calls may still take effect.

botocore returns an empty dict for a 200 whose body is not JSON: a proxy's page, an empty or a
truncated body. Some operations answer `{}` when all is well; these are asked for the consumed
capacity, so that every genuine response has a member to check.
"""

from collections.abc import Mapping
from typing import Any, Final

from botocore.exceptions import (
    BotoCoreError,
    ChecksumError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    IncompleteReadError,
    ProxyConnectionError,
)

CAPACITY: Final = "ReturnConsumedCapacity"
TOTAL: Final = "TOTAL"
SINGLE_ITEM: Final = frozenset({"DeleteItem", "GetItem", "PutItem", "UpdateItem"})
REQUIRED: Final[Mapping[str, Mapping[str, type]]] = {
    **{operation: {"ConsumedCapacity": dict} for operation in SINGLE_ITEM},
    "BatchGetItem": {"Responses": dict, "UnprocessedKeys": dict},
    "BatchWriteItem": {"UnprocessedItems": dict},
    "DescribeTable": {"Table": dict},
    "GetRecords": {"Records": list},
    "GetShardIterator": {"ShardIterator": str},
    "Query": {"Count": int},  # with Select=COUNT there are no items
    "Scan": {"ScannedCount": int},
}
# What errors of throttling name: limits and tables, no data. DynamoDB spells it in two ways.
REASONS: Final = ("ThrottlingReasons", "throttlingReasons")
# botocore raises these before it sends anything.
NOT_SENT = (ConnectTimeoutError, EndpointConnectionError, ProxyConnectionError)
REDIRECTION = 300
SERVER_ERROR = 500


class NotFromAwsError(HTTPClientError):
    """A 200 that is not a response of the service. Counts as no response."""

    fmt = "The response to {operation} has no {member}: it does not come from AWS"


def check_members(operation: str, response: Mapping[str, Any]) -> None:
    """Raise a NotFromAwsError if a successful *response* lacks what every such response has."""
    for member, kind in REQUIRED.get(operation, {}).items():
        if not isinstance(response.get(member), kind):
            raise NotFromAwsError(operation=operation, member=member)


def check_responses(client: Any) -> None:
    """Let a boto3 client check every response, and ask for what it needs to do so."""
    events, service = client.meta.events, client.meta.service_model.service_name
    for operation in SINGLE_ITEM:
        events.register(f"provide-client-params.{service}.{operation}", _ask_for_capacity)
    events.register(f"after-call.{service}", _check)


def _ask_for_capacity(params: dict[str, Any], **_: Any) -> dict[str, Any]:
    return {CAPACITY: TOTAL, **params}


def _check(http_response: Any, parsed: Mapping[str, Any], model: Any, **_: Any) -> None:
    if http_response.status_code < REDIRECTION:
        check_members(model.name, parsed)


def is_in_doubt(error: Exception) -> bool:
    """Tell whether a call that failed may have reached DynamoDB, now or later.

    That is so if the request may have been sent and no response of DynamoDB came: a timeout, a
    reset, a response that was cut short or that is somebody else's.
    """
    if isinstance(error, ClientError):
        # DynamoDB names its errors. An error without a name is a proxy's.
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return status >= SERVER_ERROR and error.response["Error"]["Code"].isdecimal()
    if isinstance(error, NOT_SENT):
        return False
    return isinstance(error, BotoCoreError) and isinstance(
        error, HTTPClientError | IncompleteReadError | ChecksumError
    )
