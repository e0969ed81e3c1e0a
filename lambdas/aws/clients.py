"""Clients one by one, for a function that needs few of them: each takes time at a cold start."""

from functools import cache
from typing import TYPE_CHECKING

import boto3

from lambdas.aws.runtime import CLIENT

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_dynamodb import DynamoDBClient


def dynamodb_client() -> "DynamoDBClient":
    """Make a client of the tables."""
    client: DynamoDBClient = boto3.client("dynamodb", config=CLIENT)
    return client


@cache
def cloudwatch_client() -> "CloudWatchClient":
    """Make a client of the metrics, once."""
    client: CloudWatchClient = boto3.client("cloudwatch", config=CLIENT)
    return client
