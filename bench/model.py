"""What is measured: orders of about a kilobyte, each a row of its user and a row per product."""

import sys
from collections.abc import Iterator

from bench.ways.rows import OPEN, SHOWN, SHOWN_BESIDE, SHOWN_OF_LINE
from lambdas.model import Index, Item, Registry, Row, Source, view

orders = Source("Orders", partition_key="orderId")
by_status = Index("GSI1", partition="GSI1_PK", sort="GSI1_SK", include=["data"])
by_product = Index("GSI2", partition="GSI2_PK", sort="GSI2_SK")


@view(orders)
def order(item: Item) -> Iterator[Row]:
    """Show an order under its user, by status while it is open, and under each product."""
    status = item["status"]
    yield Row(
        f"USER#{item['userId']}",
        f"ORDER#{item['orderId']}",
        data=item.pick(*SHOWN),
        indexes=[by_status(f"ORDER#STATUS#{status}", f"CREATED_AT#{item['createdAt']}")]
        if status in OPEN
        else [],
    )
    for line in item["lines"]:
        yield Row(
            f"ORDER#{item['orderId']}",
            f"PRODUCT#{line['productId']}",
            data=item.pick(*SHOWN_BESIDE) | line.pick(*SHOWN_OF_LINE),
            indexes=[by_product(f"PRODUCT#{line['productId']}", f"USER#{item['userId']}")],
        )


def registry() -> Registry:
    """Collect the model."""
    return Registry.of([sys.modules[__name__]])
