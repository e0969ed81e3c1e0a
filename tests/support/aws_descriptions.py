"""Descriptions of deployed resources, as AWS returns them or as templates declare them."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from adminview.model.delivery import Delivery

ARN = "arn:aws:{}:eu-west-1:111122223333:{}"
DELIVERY = Delivery()
GATEWAY = "apigateway.amazonaws.com"

Response = dict[str, Any]


def stream(table: str, when: str = "2026-01-01T00:00:00.000") -> str:
    """Return the ARN of a stream of a table."""
    return ARN.format("dynamodb", f"table/{table}/stream/{when}")


def described(table_input: Mapping[str, Any]) -> Response:
    """Describe an existing table as DynamoDB does."""
    table: Response = {**deepcopy(dict(table_input)), "TableStatus": "ACTIVE"}
    for index in table.get("GlobalSecondaryIndexes", []):
        index["IndexStatus"] = "ACTIVE"
    if "StreamSpecification" in table:
        table["LatestStreamArn"] = stream(table["TableName"])
    return table


def statements(*resolved: str) -> list[Response]:
    """Return the statements of the sync's policy, with references or with the resolved values."""
    view, queue = resolved or (
        {"Fn::ImportValue": "AdminView-dev-View:ViewArn"},
        {"Fn::GetAtt": ["Letters01234567", "Arn"]},
    )
    return [
        {"Effect": "Allow", "Action": "dynamodb:BatchWriteItem", "Resource": view},
        {"Effect": "Allow", "Action": ["sqs:SendMessage"], "Resource": [queue]},
        {"Effect": "Allow", "Action": "dynamodb:ListStreams", "Resource": stream("Orders")},
    ]


def caller(source: str, service: str = GATEWAY) -> Response:
    """Return the statement that lets a service invoke a function, as Lambda returns it."""
    condition = {"ArnLike": {"AWS:SourceArn": source}}
    return {"Effect": "Allow", "Principal": {"Service": service}, "Condition": condition}


def mapping_properties(rules: Delivery = DELIVERY) -> Response:
    """Return the properties of an event source mapping in the template."""
    return {
        "BatchSize": rules.batch_size,
        "MaximumBatchingWindowInSeconds": rules.window_seconds,
        "ParallelizationFactor": rules.parallelization,
        "BisectBatchOnFunctionError": rules.bisect,
        "MaximumRetryAttempts": rules.retries,
        "MaximumRecordAgeInSeconds": rules.max_age_seconds,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        **({"TumblingWindowInSeconds": rules.tumbling_seconds} if rules.tumbling_seconds else {}),
    }
