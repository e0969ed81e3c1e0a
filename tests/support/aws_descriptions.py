"""What AWS tells of the things that are deployed, or is told of them."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from adminview.model.delivery import Delivery

ARN = "arn:aws:{}:eu-west-1:111122223333:{}"
DELIVERY = Delivery()
GATEWAY = "apigateway.amazonaws.com"

Response = dict[str, Any]


def stream(table: str, when: str = "2026-01-01T00:00:00.000") -> str:
    """Name a stream of a table."""
    return ARN.format("dynamodb", f"table/{table}/stream/{when}")


def described(asked: Mapping[str, Any]) -> Response:
    """Describe a table as DynamoDB does, once it is there."""
    table: Response = {**deepcopy(dict(asked)), "TableStatus": "ACTIVE"}
    for index in table.get("GlobalSecondaryIndexes", []):
        index["IndexStatus"] = "ACTIVE"
    if "StreamSpecification" in table:
        table["LatestStreamArn"] = stream(table["TableName"])
    return table


def statements(*resolved: str) -> list[Response]:
    """Write the sync's policy, with what its references stand for or with the references."""
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
    """Let a service call a function, as Lambda tells it."""
    condition = {"ArnLike": {"AWS:SourceArn": source}}
    return {"Effect": "Allow", "Principal": {"Service": service}, "Condition": condition}


def mapping_properties(rules: Delivery = DELIVERY) -> Response:
    """Ask for a mapping as `infra` does."""
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
