"""The model of the benchmark: orders of about a kilobyte, with a row per user and per product."""

import sys
from collections.abc import Iterator

from adminview.model import Index, Item, Registry, Row, Source, key, view
from bench.contenders.rows import LINE_ATTRIBUTES, OPEN, ORDER_ATTRIBUTES, ORDER_ATTRIBUTES_OF_LINE

orders = Source("Orders", partition_key="orderId")
by_status = Index("GSI1", partition="GSI1_PK", sort="GSI1_SK", include=["data"])
by_product = Index("GSI2", partition="GSI2_PK", sort="GSI2_SK")


@view(orders)
def order(item: Item) -> Iterator[Row]:
    """List an order under its user and each product; index it by status while it is open."""
    status = item["status"]
    user, number = key("USER", item["userId"]), key("ORDER", item["orderId"])
    yield Row(
        user,
        number,
        data=item.pick(*ORDER_ATTRIBUTES),
        indexes=[by_status(key("ORDER", "STATUS", status), key("CREATED_AT", item["createdAt"]))]
        if status in OPEN
        else [],
    )
    for line in item["lines"]:
        product = key("PRODUCT", line["productId"])
        yield Row(
            number,
            product,
            data=item.pick(*ORDER_ATTRIBUTES_OF_LINE) | line.pick(*LINE_ATTRIBUTES),
            indexes=[by_product(product, user)],
        )


def registry() -> Registry:
    return Registry.of([sys.modules[__name__]])
