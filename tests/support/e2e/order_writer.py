"""Writes to orders while something else changes them."""

from collections.abc import Sequence
from itertools import count
from threading import Event
from typing import Any

from adminview.model.item import Image


def keep_correcting(dynamodb: Any, orders: Sequence[Image], stop: Event) -> None:
    """Correct the dates of orders, over and over."""
    for turn in count():
        for order in reversed(orders):
            if stop.wait(0.01):  # or nobody else comes to anything
                return
            dynamodb.update_item(
                TableName="Orders",
                Key={name: order[name] for name in ("CustomerId", "SK")},
                UpdateExpression="SET OrderDate = :date",
                ExpressionAttributeValues={":date": {"S": f"2025-04-{turn % 28 + 1:02}"}},
            )
