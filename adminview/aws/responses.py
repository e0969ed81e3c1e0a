"""Check that a response comes from DynamoDB, and tell which calls may still take effect.

botocore returns an empty dict for a 200 whose body is not JSON: a proxy's page, an empty or a
truncated body. Some operations answer `{}` when all is well; these are asked for the consumed
capacity, so that every genuine response has a member to check.
"""

from collections.abc import Mapping
from json import loads
from typing import Any, Final

from botocore.exceptions import (
    ChecksumError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    IncompleteReadError,
    ProxyConnectionError,
    SSLError,
)

CAPACITY: Final = "ReturnConsumedCapacity"
TOTAL: Final = "TOTAL"
SINGLE_ITEM: Final = frozenset({"DeleteItem", "GetItem", "PutItem", "UpdateItem"})
REQUIRED: Final[Mapping[str, Mapping[str, type]]] = {
    **{operation: {"ConsumedCapacity": dict} for operation in SINGLE_ITEM},
    "BatchGetItem": {"Responses": dict, "UnprocessedKeys": dict},
    "BatchWriteItem": {"UnprocessedItems": dict},
    "DescribeTable": {"Table": dict},
    "GetQueueAttributes": {"Attributes": dict},
    "GetRecords": {"Records": list},
    "GetShardIterator": {"ShardIterator": str},
    "Query": {"Count": int},  # with Select=COUNT there are no items
    "Scan": {"ScannedCount": int},
}
# What errors of throttling name: limits and tables, no data. DynamoDB spells it in two ways.
REASONS: Final = ("ThrottlingReasons", "throttlingReasons")
# botocore raises these before it sends anything.
NOT_SENT = (ConnectTimeoutError, EndpointConnectionError, ProxyConnectionError)
UNNAMED = ("", "None", "Unknown")  # what botocore calls an error without a name
NOT_TRUSTED = "CERTIFICATE_VERIFY_FAILED"
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
    for requests in response.get("UnprocessedItems", {}).values():
        if not isinstance(requests, list) or not all(isinstance(one, dict) for one in requests):
            raise NotFromAwsError(operation=operation, member="list of unprocessed items")


def check_responses(client: Any) -> None:
    """Let a boto3 client check every response, and ask for what it needs to do so."""
    events, model = client.meta.events, client.meta.service_model
    for operation in SINGLE_ITEM:
        name = f"provide-client-params.{model.service_name}.{operation}"
        events.register(name, _ask_for_capacity)
    events.register(f"before-parse.{model.service_id.hyphenize()}", _check_body)


def _ask_for_capacity(params: dict[str, Any], **_: Any) -> dict[str, Any]:
    asked = params.get(CAPACITY, "NONE")
    return {**params, CAPACITY: TOTAL if asked == "NONE" else asked}


def _check_body(operation_model: Any, response_dict: dict[str, Any], **_: Any) -> None:
    """Let botocore parse nothing but JSON objects: what else it meets, it raises by accident."""
    try:
        content = loads(response_dict["body"])
    except (ValueError, RecursionError):
        content = None
    if response_dict["status_code"] < REDIRECTION:
        if not isinstance(content, dict):
            raise NotFromAwsError(operation=operation_model.name, member="JSON object")
        check_members(operation_model.name, content)
    elif not isinstance(content, dict):
        response_dict["body"] = b"{}"  # only its status counts then


def is_in_doubt(error: Exception) -> bool:
    """Tell whether a call that failed may have reached DynamoDB, now or later.

    That is so if the request may have been sent and no response of DynamoDB came: a timeout, a
    reset, a response that was cut short or that is somebody else's.
    """
    if isinstance(error, ClientError):
        # DynamoDB names its errors. An error without a name is a proxy's.
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code = error.response["Error"]["Code"]
        return status >= SERVER_ERROR and (code.isdecimal() or code in UNNAMED)
    if isinstance(error, NOT_SENT):
        return False
    if isinstance(error, SSLError):  # of the handshake, or of any read after it
        return NOT_TRUSTED not in str(error)
    return isinstance(error, HTTPClientError | IncompleteReadError | ChecksumError)
