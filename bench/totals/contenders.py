"""Three programs that follow the same stream and keep the same totals.

The totals function is exact: its condition covers redelivered records. One ADD per record counts
a redelivered record again, so its totals are wrong sooner or later. One transaction per record,
which also puts a marker for the record, is exact as long as the markers are kept.
"""

from collections.abc import Callable, Iterator, Mapping
from time import time
from typing import Any, Final, TypeAlias

import boto3

from adminview.aws.clients import find_endpoint, http_client
from adminview.aws.observability import TotalsObserver
from adminview.aws.totals_table import HttpUpdater, TotalsTable
from adminview.handlers.totals import TotalsRuntime, add_up
from adminview.model.row import Attributes
from adminview.totals.changes import read_changes
from adminview.totals.update import key_of_group

Event: TypeAlias = Mapping[str, Any]
Handle: TypeAlias = Callable[[Event], None]
Request: TypeAlias = dict[str, Any]

OURS, ADD, TRANSACTION = "totals function", "ADD per record", "transaction per record"
MARKERS: Final = "Markers"  # of the records that a transaction has counted


class Invocation:
    """The attributes of Lambda's context that the function uses."""

    aws_request_id = "bench"
    function_name = "bench"
    memory_limit_in_mb = 512
    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:bench"

    def get_remaining_time_in_millis(self) -> int:
        return 100_000


def totals_function(table: str) -> Handle:
    """Return the handler of the deployed function; it fails if a record is left."""
    endpoint = find_endpoint()
    assert endpoint
    updates = TotalsTable(HttpUpdater(http_client(endpoint)), table, time)
    runtime = TotalsRuntime(updates, TotalsObserver(service="bench"))

    def handle(event: Event) -> None:
        response = add_up(event, Invocation(), runtime)
        assert response == {"state": {}, "batchItemFailures": []}

    return handle


def add_per_record(table: str) -> Handle:
    """Return a handler that adds each change with a call of its own, in a boto3 client."""
    client: Any = boto3.client("dynamodb")

    def handle(event: Event) -> None:
        for request in add_requests(event, table):
            client.update_item(**request)

    return handle


def transaction_per_record(table: str) -> Handle:
    """Return a handler that adds each change in a transaction, in a boto3 client."""
    client: Any = boto3.client("dynamodb")

    def handle(event: Event) -> None:
        for request in transactions(event, table):
            client.transact_write_items(**request)

    return handle


def add_requests(event: Event, table: str) -> Iterator[Request]:
    """Yield an ADD for each group that each record changes."""
    for group, changes in read_changes(event["Records"]).groups.items():
        for change in changes:
            names = {f"#a{place}": name for place, name in enumerate(change.amounts)}
            values: Attributes = {
                f":a{place}": {"N": f"{amount:f}"}
                for place, amount in enumerate(change.amounts.values())
            }
            added = [f"{name} {value}" for name, value in zip(names, values, strict=True)]
            yield {
                "TableName": table,
                "Key": key_of_group(group),
                "UpdateExpression": f"ADD {', '.join(added)}",
                "ExpressionAttributeNames": names,
                "ExpressionAttributeValues": values,
            }


def transactions(event: Event, table: str) -> Iterator[Request]:
    """Yield a transaction for each record: a marker that must be new, and its ADDs."""
    for record in event["Records"]:
        updates = [*add_requests({"Records": [record]}, table)]
        marker: Attributes = {"PK": {"S": record["dynamodb"]["SequenceNumber"]}}
        put = {
            "TableName": MARKERS,
            "Item": marker,
            "ConditionExpression": "attribute_not_exists(PK)",
        }
        yield {"TransactItems": [{"Put": put}, *({"Update": update} for update in updates)]}


CONTENDERS: Final[Mapping[str, Callable[[str], Handle]]] = {
    OURS: totals_function,
    ADD: add_per_record,
    TRANSACTION: transaction_per_record,
}
