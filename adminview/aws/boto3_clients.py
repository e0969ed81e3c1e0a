"""boto3 clients. A module of its own, because loading boto3 slows down a cold start."""

from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from adminview.aws.concurrency import MAX_CONCURRENCY
from adminview.aws.deadline import CONNECT_SECONDS, READ_SECONDS
from adminview.aws.responses import check_responses

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_sqs import SQSClient

# No retries by botocore: ours respect the invocation's deadline.
CLIENT = Config(
    retries={"total_max_attempts": 1},
    connect_timeout=CONNECT_SECONDS,
    read_timeout=READ_SECONDS,
    max_pool_connections=MAX_CONCURRENCY,
    tcp_keepalive=True,
)


CREATING = Lock()  # creating clients is not thread-safe in boto3; using them is


def service_client(service: str, config: Config = CLIENT, **options: Any) -> Any:
    """Return a client of any service; *options* are those of `boto3.client`."""
    with CREATING:
        return boto3.client(service, config=config, **options)


def dynamodb_client(config: Config = CLIENT, **options: Any) -> "DynamoDBClient":
    """Return a client; *options* are those of `boto3.client`, such as `endpoint_url`."""
    client: DynamoDBClient = service_client("dynamodb", config, **options)
    check_responses(client)
    return client


def sqs_client() -> "SQSClient":
    client: SQSClient = service_client("sqs")
    check_responses(client)
    return client


def streams_client() -> "DynamoDBStreamsClient":
    client: DynamoDBStreamsClient = service_client("dynamodbstreams")
    check_responses(client)
    return client


def lambda_client() -> "LambdaClient":
    client: LambdaClient = service_client("lambda")
    return client


@cache
def cloudwatch_client() -> "CloudWatchClient":
    client: CloudWatchClient = service_client("cloudwatch")
    return client
