"""Mark a product of an order as a favourite: two items, one transaction.

The mark on the order's line and the favourite are written together, or neither is. A line has no
key, only a place in a list, and a place can be another's by the time of the write: the condition
holds it to the product. So if the transaction fails, read the order again and try again; never take
the condition away.
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
PAUSE_SECONDS = 0.05  # before the second try, at most; then twice as long each time
# What a favourite keeps of the line, and under which names.
KEPT = {
    "Id": "ItemId",
    "Name": "ItemName",
    "Price": "ItemPrice",
    "Description": "ItemDescription",
    "Category": "ItemCategory",
}
MOVED = "ConditionalCheckFailed"  # the order is not what was read
PASSES = {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}

Attributes = Mapping[str, Any]  # DynamoDB JSON


class LetterOutcome(StrEnum):
    """What became of a wish."""

    MARKED = "marked"
    NOT_THERE = "no such order, or it does not hold the product"
    BUSY = "the order changed each time: try again later"


@dataclass(frozen=True, slots=True)
class Favourites:
    """The favourites of a table that holds orders too."""

    client: "DynamoDBClient"
    table: str = "Orders"
    sleep: Callable[[float], object] = time.sleep

    def mark(self, customer_id: str, order: str, product_id: str) -> LetterOutcome:
        """Make a product of an order a favourite; to do it twice changes nothing."""
        key = {"CustomerId": {"S": customer_id}, "SK": {"S": order}}
        for attempt in range(TRIES):
            if attempt:
                pause = PAUSE_SECONDS * 2**attempt
                self.sleep(random.uniform(0, pause))  # noqa: S311 - so that two do not meet again
            found = self.client.get_item(TableName=self.table, Key=key, ConsistentRead=True)
            writes = transaction(self.table, found.get("Item", {}), product_id)
            if not writes:
                return LetterOutcome.NOT_THERE
            try:
                # boto3 gives each call a token: one whose answer was lost is not done twice.
                self.client.transact_write_items(TransactItems=writes)
            except self.client.exceptions.TransactionCanceledException as error:
                reasons = {one.get("Code", "None") for one in error.response["CancellationReasons"]}
                if not reasons <= {MOVED, "None", *PASSES}:
                    raise
            else:
                return LetterOutcome.MARKED
        return LetterOutcome.BUSY


def transaction(table: str, order: Attributes, product_id: str) -> list[Any]:
    """Say what is to be written together, or nothing if the order does not hold the product."""
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
