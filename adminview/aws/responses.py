"""Check that a response comes from AWS, and which failed calls may still take effect.

botocore returns an empty dict for a 200 whose body is not JSON: a proxy's page, an empty or a
truncated body. Some operations return `{}` on success; for these, every request includes
ReturnConsumedCapacity, so that every genuine response has a member to check.
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
    "Query": {"Count": int},  # with Select=COUNT there is no Items
    "Scan": {"ScannedCount": int},
}
# Throttling errors name limits and tables here, no data. DynamoDB uses both spellings.
REASONS: Final = ("ThrottlingReasons", "throttlingReasons")
# The item that failed a condition, if the request has ReturnValuesOnConditionCheckFailure. It is
# data: never log the response of an error.
CONDITION_ITEM: Final = "Item"
# botocore raises these before it sends anything.
NOT_SENT = (ConnectTimeoutError, EndpointConnectionError, ProxyConnectionError)
UNNAMED = ("", "None", "Unknown")  # botocore's codes for an error without a name
NOT_TRUSTED = "CERTIFICATE_VERIFY_FAILED"
REDIRECTION = 300
SERVER_ERROR = 500


class NotFromAwsError(HTTPClientError):
    """A 200 that does not come from AWS. It counts as no response."""

    fmt = "The response to {operation} has no {member}: it does not come from AWS"


def check_members(operation: str, response: Mapping[str, Any]) -> None:
    """Raise a NotFromAwsError if a successful *response* lacks a required member."""
    for member, kind in REQUIRED.get(operation, {}).items():
        if not isinstance(response.get(member), kind):
            raise NotFromAwsError(operation=operation, member=member)
    for requests in response.get("UnprocessedItems", {}).values():
        if not isinstance(requests, list) or not all(
            isinstance(request, dict) for request in requests
        ):
            raise NotFromAwsError(operation=operation, member="list of unprocessed items")


def check_responses(client: Any) -> None:
    """Make a boto3 client check every response, and request the capacity that this needs."""
    events, model = client.meta.events, client.meta.service_model
    for operation in SINGLE_ITEM:
        name = f"provide-client-params.{model.service_name}.{operation}"
        events.register(name, _request_capacity)
    events.register(f"before-parse.{model.service_id.hyphenize()}", _check_body)


def _request_capacity(params: dict[str, Any], **_: Any) -> dict[str, Any]:
    requested = params.get(CAPACITY, "NONE")
    return {**params, CAPACITY: TOTAL if requested == "NONE" else requested}


def _check_body(operation_model: Any, response_dict: dict[str, Any], **_: Any) -> None:
    """Pass only JSON objects to botocore's parser: others make it raise arbitrary errors."""
    try:
        content = loads(response_dict["body"])
    except (ValueError, RecursionError):
        content = None
    if response_dict["status_code"] < REDIRECTION:
        if not isinstance(content, dict):
            raise NotFromAwsError(operation=operation_model.name, member="JSON object")
        check_members(operation_model.name, content)
    elif not isinstance(content, dict):
        response_dict["body"] = b"{}"  # then only the status is used


def is_in_doubt(error: Exception) -> bool:
    """Return whether a failed call may have reached DynamoDB, or may still reach it.

    That is the case if the request may have been sent and DynamoDB's response did not arrive: a
    timeout, a reset, a truncated response, or one that does not come from AWS.
    """
    if isinstance(error, ClientError):
        # DynamoDB names its errors. An error without a name comes from a proxy.
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code = error.response["Error"]["Code"]
        return status >= SERVER_ERROR and (code.isdecimal() or code in UNNAMED)
    if isinstance(error, NOT_SENT):
        return False
    if isinstance(error, SSLError):  # in the handshake or in any later read
        return NOT_TRUSTED not in str(error)
    return isinstance(error, HTTPClientError | IncompleteReadError | ChecksumError)
