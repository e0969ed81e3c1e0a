"""Ask the AdminViewTable a declared question."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lambdas.aws.wire import for_boto3, from_boto3
from lambdas.model import AccessPattern
from lambdas.model.row import Attributes

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def ask(
    client: "DynamoDBClient", table: str, pattern: AccessPattern, /, **parameters: object
) -> Iterator[Attributes]:
    """Answer a question with all its rows, page after page, in the order of their keys."""
    condition = pattern.condition(**parameters)
    query: dict[str, Any] = {
        "TableName": table,
        "KeyConditionExpression": condition.expression,
        "ExpressionAttributeNames": condition.names,
        "ExpressionAttributeValues": for_boto3(condition.values),
        "ScanIndexForward": not pattern.newest_first,
    }
    if condition.index:
        query["IndexName"] = condition.index
    for page in client.get_paginator("query").paginate(**query):
        yield from (from_boto3(row) for row in page["Items"])
