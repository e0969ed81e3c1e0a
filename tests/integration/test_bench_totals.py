"""The write units that the benchmark counts for totals are what DynamoDB consumes.

On DynamoDB Local alone: moto counts no capacity.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from adminview.aws.attribute_codec import for_boto3
from adminview.local.engines import Engine, EngineName
from adminview.local.tables import create, source_table, totals_table
from adminview.model import Source
from adminview.model.write_units import Units
from bench.totals.contenders import ADD, MARKERS, OURS, TRANSACTION
from bench.totals.counts import POSITIONS, requests_of
from bench.totals.items import before, table_with, units
from bench.totals.streams import TotalsLoad

pytestmark = pytest.mark.parametrize("engine", [EngineName.DYNAMODB_LOCAL], indirect=True)

FEW, MANY = TotalsLoad(40, 4), TotalsLoad(12, 12)
RANKED = TotalsLoad(24, 3, ranked=True)
RUNS = [
    *((OURS, load, positions) for load in (FEW, MANY, RANKED) for positions in POSITIONS),
    *((ADD, load, 0) for load in (FEW, RANKED)),
    *((TRANSACTION, load, 0) for load in (FEW, RANKED)),
]


@pytest.fixture
def client(engine: Engine) -> Iterator[Any]:
    """Return a client, and remove all tables afterwards."""
    client = engine.dynamodb()
    yield client
    for name in client.list_tables()["TableNames"]:
        client.delete_table(TableName=name)


@pytest.mark.parametrize(("contender", "load", "positions"), RUNS, ids=str)
def test_dynamodb_consumes_the_units_that_are_counted(
    client: Any, contender: str, load: TotalsLoad, positions: int
) -> None:
    table = table_with(positions)
    create(client, totals_table(table))
    create(client, source_table(Source("Markers", partition_key="PK"), MARKERS))
    requests = requests_of(contender, load, positions)
    for update in updates(requests):
        client.put_item(TableName=table, Item=for_boto3(before(update)))
    assert consumed(client, requests) == units(requests)


def updates(requests: list[dict[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for request in requests:
        for item in request.get("TransactItems", [{"Update": request}]):
            if "Update" in item:
                yield item["Update"]


def consumed(client: Any, requests: list[dict[str, Any]]) -> Units:
    """Make the calls, and return what DynamoDB consumes for them."""
    total = Units()
    for request in requests:
        if "TransactItems" in request:
            answer = client.transact_write_items(
                TransactItems=[in_bytes(item) for item in request["TransactItems"]],
                ReturnConsumedCapacity="INDEXES",
            )
            reported = answer["ConsumedCapacity"]
        else:
            answer = client.update_item(**in_bytes(request), ReturnConsumedCapacity="INDEXES")
            reported = [answer["ConsumedCapacity"]]
        for table in reported:
            indexes = table.get("GlobalSecondaryIndexes", {})
            total += Units(
                int(table["Table"]["CapacityUnits"]),
                {name: int(use["CapacityUnits"]) for name, use in indexes.items()},
            )
    return total


def in_bytes(request: dict[str, Any]) -> dict[str, Any]:
    """Return a request as boto3 takes it: binary values as bytes."""
    values = "ExpressionAttributeValues"
    return {
        name: for_boto3(content)
        if name == values
        else in_bytes(content)
        if name in {"Put", "Update"}
        else content
        for name, content in request.items()
    }
