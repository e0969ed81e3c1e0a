"""The measured model: orders of about a kilobyte, with a row per user and per product."""

import sys
from collections.abc import Iterator

from adminview.model import Index, Item, Registry, Row, Source, key, view
from bench.ways.rows import OPEN, SHOWN, SHOWN_BESIDE, SHOWN_OF_LINE

orders = Source("Orders", partition_key="orderId")
by_status = Index("GSI1", partition="GSI1_PK", sort="GSI1_SK", include=["data"])
by_product = Index("GSI2", partition="GSI2_PK", sort="GSI2_SK")


@view(orders)
def order(item: Item) -> Iterator[Row]:
    """Show an order under its user, by status while it is open, and under each product."""
    status = item["status"]
    user, number = key("USER", item["userId"]), key("ORDER", item["orderId"])
    yield Row(
        user,
        number,
        data=item.pick(*SHOWN),
        indexes=[by_status(key("ORDER", "STATUS", status), key("CREATED_AT", item["createdAt"]))]
        if status in OPEN
        else [],
    )
    for line in item["lines"]:
        product = key("PRODUCT", line["productId"])
        yield Row(
            number,
            product,
            data=item.pick(*SHOWN_BESIDE) | line.pick(*SHOWN_OF_LINE),
            indexes=[by_product(product, user)],
        )


def registry() -> Registry:
    return Registry.of([sys.modules[__name__]])
