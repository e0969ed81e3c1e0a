"""Parses DynamoDB's responses; raises the errors that a boto3 client raises.

No error quotes a response: it may hold data.
"""

from typing import Any, cast
from zlib import crc32

from botocore.exceptions import ChecksumError, ClientError, ResponseStreamingError

from adminview.aws.responses import CONDITION_ITEM, REASONS, REDIRECTION, check_members
from adminview.aws.transport.connection import OK, HttpResponse
from adminview.model.json_codec import parse


def parse_response(response: HttpResponse, operation: str) -> dict[str, Any]:
    """Return the content of a response; raises a ClientError or BotoCoreError."""
    _check_sum(response)
    content = _parse(response.content)
    if OK < response.status < REDIRECTION:
        raise ResponseStreamingError(error="the response is neither a result nor an error")
    if response.status != OK:
        raise _refusal(response, content, operation)
    if content is None:
        raise ResponseStreamingError(error="the response is not a JSON object")
    check_members(operation, content)
    content["ResponseMetadata"] = {"RequestId": response.headers.get("x-amzn-requestid", "")}
    return content


def _check_sum(response: HttpResponse) -> None:
    expected = response.headers.get("x-amz-crc32")
    if expected is not None and expected != (actual := str(crc32(response.content))):
        raise ChecksumError(
            checksum_type="crc32", expected_checksum=expected, actual_checksum=actual
        )


def _parse(content: bytes) -> dict[str, Any] | None:
    try:
        parsed = parse(content)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def _refusal(response: HttpResponse, content: dict[str, Any] | None, operation: str) -> ClientError:
    """Return the error by DynamoDB's code or by the status, without its text: it may quote data."""
    named = str((content or {}).get("__type") or "").partition(":")[0].rpartition("#")[2]
    error = ClientError(
        {
            "Error": {
                "Code": named if named.isidentifier() else str(response.status),
                "Message": "",
            },
            "ResponseMetadata": {
                "HTTPStatusCode": response.status,
                "RequestId": response.headers.get("x-amzn-requestid", ""),
                "HTTPHeaders": {},
                "RetryAttempts": 0,
                "HostId": "",
            },
        },
        operation,
    )
    error_response: dict[str, Any] = cast("dict[str, Any]", error.response)
    details = (*REASONS, CONDITION_ITEM)
    error_response.update({name: content[name] for name in details if content and name in content})
    return error
