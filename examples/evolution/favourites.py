"""Mark a product of an order as a favourite: two items, one transaction.

The mark on the order's line and the favourite are written together or not at all. A line has no
key, only a position in a list, and the line at that position may change before the write: the
condition checks the product. If the transaction fails, read the order and try again; never remove
the condition.
"""

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TRIES = 5
PAUSE_SECONDS = 0.05  # the longest pause before the second try; it doubles each time
# The attributes of a line, and their names in a favourite.
KEPT = {
    "Id": "ItemId",
    "Name": "ItemName",
    "Price": "ItemPrice",
    "Description": "ItemDescription",
    "Category": "ItemCategory",
}
CHANGED = "ConditionalCheckFailed"  # the order changed after it was read
TRANSIENT = {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}

Attributes = Mapping[str, Any]  # DynamoDB JSON


class MarkResult(StrEnum):
    """The result of marking a favourite."""

    MARKED = "marked"
    NOT_THERE = "no such order, or it does not hold the product"
    BUSY = "the order changed each time: try again later"


@dataclass(frozen=True, slots=True)
class Favourites:
    """The favourites in a table that also holds orders."""

    client: "DynamoDBClient"
    table: str = "Orders"
    sleep: Callable[[float], object] = time.sleep

    def mark(self, customer_id: str, order: str, product_id: str) -> MarkResult:
        """Mark a product of an order as a favourite. Marking it twice changes nothing."""
        key = {"CustomerId": {"S": customer_id}, "SK": {"S": order}}
        for attempt in range(TRIES):
            if attempt:
                pause = PAUSE_SECONDS * 2**attempt
                self.sleep(random.uniform(0, pause))  # noqa: S311 - so that two do not meet again
            response = self.client.get_item(TableName=self.table, Key=key, ConsistentRead=True)
            writes = transaction(self.table, response.get("Item", {}), product_id)
            if not writes:
                return MarkResult.NOT_THERE
            try:
                # boto3 adds a token to each call: one whose response was lost is not applied twice.
                self.client.transact_write_items(TransactItems=writes)
            except self.client.exceptions.TransactionCanceledException as error:
                reasons = error.response["CancellationReasons"]
                codes = {reason.get("Code", "None") for reason in reasons}
                if not codes <= {CHANGED, "None", *TRANSIENT}:
                    raise
            else:
                return MarkResult.MARKED
        return MarkResult.BUSY


def transaction(table: str, order: Attributes, product_id: str) -> list[Any]:
    """Return the writes of one transaction, or none if the order does not have the product."""
    lines = order.get("Items", {"L": []})["L"]
    places = [at for at, line in enumerate(lines) if line["M"].get("Id") == {"S": product_id}]
    if not places:
        return []
    place, line = places[0], lines[places[0]]["M"]
    favourite = {
        "CustomerId": order["CustomerId"],
        "SK": {"S": f"FAVOURITE#{product_id}"},
        **{new: line[old] for old, new in KEPT.items() if old in line},
    }
    return [
        {"Put": {"TableName": table, "Item": favourite}},
        {
            "Update": {
                "TableName": table,
                "Key": {name: order[name] for name in ("CustomerId", "SK")},
                "UpdateExpression": f"SET #Items[{place}].#Favourite = :Favourite",
                "ConditionExpression": f"#Items[{place}].#Id = :ItemId",
                "ExpressionAttributeNames": {
                    "#Items": "Items",
                    "#Favourite": "Favourite",
                    "#Id": "Id",
                },
                "ExpressionAttributeValues": {
                    ":Favourite": {"BOOL": True},
                    ":ItemId": {"S": product_id},
                },
            }
        },
    ]
