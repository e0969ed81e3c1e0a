"""The arguments of CreateTable for the tables that a registry declares."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from adminview.aws.table_description import TableDescription
from adminview.model import Attribute, Index, Registry, Source
from adminview.model.attribute import PK, SK
from adminview.model.stream import VIEW_TYPE
from adminview.model.total import RANKING

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

WAIT_SECONDS = 120  # for a table or an index to be created; on AWS a table takes about ten


def source_table(source: Source, name: str) -> dict[str, Any]:
    """Describe the table of *source*, with the stream that the sync reads."""
    return {
        **_table(name, source.key),
        "KeySchema": _key_schema([source.partition_key], source.key[1:]),
        **_stream(),
    }


def view_table(registry: Registry, name: str) -> dict[str, Any]:
    """Describe AdminViewTable with every declared index."""
    local = [_index(index) for index in registry.local_indexes]
    return {
        **_table(name, registry.key_attributes),
        "KeySchema": _key_schema([PK], [SK]),
        "GlobalSecondaryIndexes": [_index(index) for index in registry.global_indexes],
        **(_stream() if registry.totals else {}),
        # CreateTable refuses an empty list.
        **({"LocalSecondaryIndexes": local} if local else {}),
    }


def progress_table(name: str) -> dict[str, Any]:
    """Describe the progress table of bulk work."""
    return {**_table(name, (PK, SK)), "KeySchema": _key_schema([PK], [SK])}


def totals_table(name: str) -> dict[str, Any]:
    """Describe the totals table, with the index of ranked totals."""
    return {
        **_table(name, (PK, SK, *RANKING.sort)),
        "KeySchema": _key_schema([PK], [SK]),
        "GlobalSecondaryIndexes": [_index(RANKING)],
    }


def create(client: "DynamoDBClient", arguments: dict[str, Any]) -> str | None:
    """Create a table, wait until it is active, and return the ARN of its stream, if any."""
    client.create_table(**arguments)
    client.get_waiter("table_exists").wait(
        TableName=arguments["TableName"], WaiterConfig={"Delay": 1, "MaxAttempts": WAIT_SECONDS}
    )
    table = client.describe_table(TableName=arguments["TableName"])["Table"]
    return TableDescription.of(table).stream_arn


def add_indexes(client: "DynamoDBClient", arguments: dict[str, Any]) -> list[str]:
    """Add the global indexes that an existing table lacks, and return their names."""
    name, added = arguments["TableName"], []
    types = _by_name(arguments["AttributeDefinitions"])
    for index in arguments.get("GlobalSecondaryIndexes", ()):
        table: Any = client.describe_table(TableName=name)["Table"]
        if TableDescription.of(table).index(index["IndexName"]):
            continue
        # DynamoDB adds one index at a time, and refuses definitions that no key uses.
        used = _by_name(table["AttributeDefinitions"])
        used |= {key["AttributeName"]: types[key["AttributeName"]] for key in index["KeySchema"]}
        client.update_table(
            TableName=name,
            AttributeDefinitions=list(used.values()),
            GlobalSecondaryIndexUpdates=[{"Create": index}],
        )
        _wait_for_index(client, name, index["IndexName"])
        added.append(index["IndexName"])
    return added


def _by_name(attributes: Iterable[Any]) -> dict[str, Any]:
    return {attribute["AttributeName"]: attribute for attribute in attributes}


def _wait_for_index(client: "DynamoDBClient", table: str, name: str) -> None:
    for _ in range(WAIT_SECONDS):
        index = TableDescription.of(client.describe_table(TableName=table)["Table"]).index(name)
        if index and index.ready:
            return
        time.sleep(1)


def _stream() -> dict[str, Any]:
    return {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": VIEW_TYPE}}


def _table(name: str, attributes: Iterable[Attribute]) -> dict[str, Any]:
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": attribute.name, "AttributeType": attribute.type}
            for attribute in attributes
        ],
    }


def _index(index: Index) -> dict[str, Any]:
    projection: dict[str, Any] = {"ProjectionType": index.projection}
    if index.projection == "INCLUDE":
        projection["NonKeyAttributes"] = list(index.include)
    return {
        "IndexName": index.name,
        "KeySchema": _key_schema(index.stored_partition, index.sort),
        "Projection": projection,
    }


def _key_schema(partition: Iterable[Attribute], sort: Iterable[Attribute]) -> list[dict[str, str]]:
    return [
        *({"AttributeName": attribute.name, "KeyType": "HASH"} for attribute in partition),
        *({"AttributeName": attribute.name, "KeyType": "RANGE"} for attribute in sort),
    ]
