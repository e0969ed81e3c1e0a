"""The clients of DynamoDB and SQS: the direct HTTP client, or boto3.

boto3 takes longer to load than everything else at a cold start, so it is imported when one of its
clients is first used. A function that uses the direct client and sends no dead letter never does.
"""

import os
from functools import cache, cached_property
from typing import TYPE_CHECKING, Final, cast

from aws_lambda_powertools import Logger

from adminview.aws.deadline import CONNECT_SECONDS, READ_SECONDS
from adminview.aws.transport.eligibility import (
    IN_LAMBDA,
    DirectEndpoint,
    direct_endpoint,
    fallback,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

    from adminview.aws.transport.http_client import HttpClient

FALLBACK_LOGGED: Final = "boto3 is used instead of the direct client"


class Clients:
    """The clients of a function, created when first used. Arguments replace the default clients."""

    def __init__(
        self, dynamodb: "DynamoDBClient | None" = None, sqs: "SQSClient | None" = None
    ) -> None:
        if dynamodb is not None:
            self.dynamodb = dynamodb
        if sqs is not None:
            self.sqs = sqs

    @cached_property
    def dynamodb(self) -> "DynamoDBClient":
        """The direct client if the environment allows it, else boto3."""
        endpoint = find_endpoint()
        return direct_client(http_client(endpoint)) if endpoint else boto3_client()

    @cached_property
    def sqs(self) -> "SQSClient":
        from adminview.aws.boto3_clients import sqs_client  # noqa: PLC0415 - loads boto3

        return sqs_client()


def find_endpoint() -> DirectEndpoint | None:
    """Return the endpoint of the direct client; None, logged once, if boto3 must be used."""
    reason = fallback(os.environ)
    if reason and reason.setting != IN_LAMBDA:
        _log_fallback(str(reason))
    return direct_endpoint(os.environ)


@cache
def _log_fallback(reason: str) -> None:
    Logger().warning(FALLBACK_LOGGED, reason=reason)


def boto3_client() -> "DynamoDBClient":
    from adminview.aws.boto3_clients import dynamodb_client  # noqa: PLC0415 - loads boto3

    return dynamodb_client()


def direct_client(http: "HttpClient") -> "DynamoDBClient":
    """Return a client that reads and writes items with *http*, and makes other calls with boto3."""
    from adminview.aws.transport.dynamodb_client import DynamoDbHttpClient  # noqa: PLC0415 - only here

    return cast("DynamoDBClient", DynamoDbHttpClient(http, boto3_client))


def http_client(endpoint: DirectEndpoint, read_seconds: float = READ_SECONDS) -> "HttpClient":
    from adminview.aws.transport.http_client import HttpClient  # noqa: PLC0415 - boto3 needs none

    timeouts = (CONNECT_SECONDS, read_seconds)
    return HttpClient(endpoint.url, endpoint.region, endpoint.credentials, timeouts)
