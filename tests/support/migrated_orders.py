"""An order service during a migration: old orders, and writes between the migration's calls."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from adminview.aws.attribute_codec import for_boto3, from_boto3
from adminview.examples.shop import sample_data as shop
from adminview.local.local_cloud import LocalCloud
from adminview.model.row import Attributes
from tests.support.stream_records import image

ORDERS = "Orders"


@dataclass
class Interrupted:
    """A client with a hook before each update, for writes of others."""

    client: Any
    before_update: Callable[[Any], object] = lambda _: None
    calls: Counter[str] = field(default_factory=Counter)
    units: float = 0.0

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.client, name)

        def counted(**arguments: Any) -> Any:
            self.calls[name] += 1
            if name == "update_item":
                self.before_update(arguments)
                arguments["ReturnConsumedCapacity"] = "TOTAL"
            answer = call(**arguments)
            if name == "update_item":
                self.units += answer["ConsumedCapacity"]["CapacityUnits"]
            return answer

        return counted


def old_order(number: int, customer: str = shop.ADA, **more: Any) -> dict[str, Any]:
    """Return an order without a delivery date, as old ones are."""
    day = f"2025-02-{number % 28 + 1:02}"
    return shop.order(customer, day, f"{number:07}", "PENDING", [shop.EGGS], **more).item


def put(cloud: LocalCloud, *items: dict[str, Any]) -> None:
    for item in items:
        cloud.put(ORDERS, item)


def orders_of(cloud: LocalCloud) -> dict[str, Attributes]:
    """Return the whole table, by sort key."""
    pages = cloud.clients.dynamodb.get_paginator("scan").paginate(TableName=ORDERS)
    items = [from_boto3(item) for page in pages for item in page["Items"]]
    return {item["SK"]["S"]: item for item in items}


def as_read(item: dict[str, Any]) -> Any:
    """Return an item as boto3's client returns it."""
    return for_boto3(image(item))
