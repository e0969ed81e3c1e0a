"""boto3 clients. A module of its own, because loading boto3 slows down a cold start."""

from functools import cache
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from adminview.aws.concurrency import MAX_CONCURRENCY
from adminview.aws.deadline import CONNECT_SECONDS, READ_SECONDS
from adminview.aws.responses import check_responses

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient
    from mypy_boto3_sqs import SQSClient

# No retries by botocore: ours respect the invocation's deadline.
CLIENT = Config(
    retries={"total_max_attempts": 1},
    connect_timeout=CONNECT_SECONDS,
    read_timeout=READ_SECONDS,
    max_pool_connections=MAX_CONCURRENCY,
    tcp_keepalive=True,
)


def dynamodb_client(config: Config = CLIENT) -> "DynamoDBClient":
    client: DynamoDBClient = boto3.client("dynamodb", config=config)
    check_responses(client)
    return client


def sqs_client() -> "SQSClient":
    client: SQSClient = boto3.client("sqs", config=CLIENT)
    check_responses(client)
    return client


def streams_client() -> "DynamoDBStreamsClient":
    client: DynamoDBStreamsClient = boto3.client("dynamodbstreams", config=CLIENT)
    check_responses(client)
    return client


@cache
def cloudwatch_client() -> "CloudWatchClient":
    client: CloudWatchClient = boto3.client("cloudwatch", config=CLIENT)
    return client
