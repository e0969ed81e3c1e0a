"""An answer of DynamoDB -> what it says, or the error that a boto3 client raises for it.

No error quotes an answer: it may hold data.
"""

from typing import Any, cast
from zlib import crc32

from botocore.exceptions import ChecksumError, ClientError, ResponseStreamingError

from adminview.aws.responses import REASONS, REDIRECTION, check_members
from adminview.aws.transport.connection import OK, HttpResponse
from adminview.model.json_codec import parse


def parse_response(answer: HttpResponse, operation: str) -> dict[str, Any]:
    """Read an answer, if it is sound and tells of no error."""
    _check_sum(answer)
    told = _parse(answer.content)
    if OK < answer.status < REDIRECTION:
        raise ResponseStreamingError(error="the answer is neither a response nor an error")
    if answer.status != OK:
        raise _refusal(answer, told, operation)
    if told is None:
        raise ResponseStreamingError(error="the answer is not a JSON object")
    check_members(operation, told)
    told["ResponseMetadata"] = {"RequestId": answer.headers.get("x-amzn-requestid", "")}
    return told


def _check_sum(answer: HttpResponse) -> None:
    expected = answer.headers.get("x-amz-crc32")
    if expected is not None and expected != (actual := str(crc32(answer.content))):
        raise ChecksumError(
            checksum_type="crc32", expected_checksum=expected, actual_checksum=actual
        )


def _parse(content: bytes) -> dict[str, Any] | None:
    try:
        told = parse(content)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


def _refusal(answer: HttpResponse, told: dict[str, Any] | None, operation: str) -> ClientError:
    """Make the error that DynamoDB named, or one named by its status; its text may quote data."""
    named = str((told or {}).get("__type") or "").partition(":")[0].rpartition("#")[2]
    error = ClientError(
        {
            "Error": {"Code": named if named.isidentifier() else str(answer.status), "Message": ""},
            "ResponseMetadata": {
                "HTTPStatusCode": answer.status,
                "RequestId": answer.headers.get("x-amzn-requestid", ""),
                "HTTPHeaders": {},
                "RetryAttempts": 0,
                "HostId": "",
            },
        },
        operation,
    )
    response: dict[str, Any] = cast("dict[str, Any]", error.response)
    response.update({name: told[name] for name in REASONS if told and name in told})
    return error
