"""PynamoDB: orders and rows as models, and its `batch_write`."""

import os
from typing import Any

from pynamodb.attributes import (
    BooleanAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    UnicodeAttribute,
)
from pynamodb.models import Model

from bench.contenders import Event, Handler
from bench.contenders.rows import LINE_ATTRIBUTES, OPEN, ORDER_ATTRIBUTES, ORDER_ATTRIBUTES_OF_LINE


class Address(MapAttribute[str, Any]):
    """The delivery address of an order."""

    name = UnicodeAttribute()
    street = UnicodeAttribute()
    postcode = UnicodeAttribute()
    city = UnicodeAttribute()
    country = UnicodeAttribute()


class Payment(MapAttribute[str, Any]):
    """The payment of an order."""

    method = UnicodeAttribute()
    reference = UnicodeAttribute()
    authorizedAt = UnicodeAttribute()  # noqa: N815 - the attribute's name


class Line(MapAttribute[str, Any]):
    """One product of an order."""

    productId = UnicodeAttribute()  # noqa: N815 - the attribute's name
    name = UnicodeAttribute()
    quantity = NumberAttribute()
    price = NumberAttribute()
    gift = BooleanAttribute()


class Order(Model):
    """An item of the source table."""

    class Meta:
        """PynamoDB's settings of the table."""

        table_name = "Orders"

    orderId = UnicodeAttribute(hash_key=True)  # noqa: N815 - the attribute's name
    userId = UnicodeAttribute()  # noqa: N815
    status = UnicodeAttribute()
    total = NumberAttribute()
    currency = UnicodeAttribute()
    createdAt = UnicodeAttribute()  # noqa: N815
    channel = UnicodeAttribute()
    address = Address()  # type: ignore[no-untyped-call]  # PynamoDB's own
    payment = Payment()  # type: ignore[no-untyped-call]  # likewise
    lines = ListAttribute(of=Line)
    tags: ListAttribute[str] = ListAttribute()
    revision = NumberAttribute()
    note = UnicodeAttribute()


class ViewRow(Model):
    """A row of the view table."""

    class Meta:
        """PynamoDB's settings of the table."""

        table_name = os.environ.get("ADMINVIEW_TABLE", "")

    PK = UnicodeAttribute(hash_key=True)
    SK = UnicodeAttribute(range_key=True)
    GSI1_PK = UnicodeAttribute(null=True)
    GSI1_SK = UnicodeAttribute(null=True)
    GSI2_PK = UnicodeAttribute(null=True)
    GSI2_SK = UnicodeAttribute(null=True)
    data: MapAttribute[str, Any] = MapAttribute()  # type: ignore[no-untyped-call]


def connect() -> Handler:

    def handle(event: Event) -> None:
        last: dict[tuple[str, str], tuple[ViewRow, bool]] = {}  # a call may write a row only once
        for record in event["Records"]:
            removed = record["eventName"] == "REMOVE"
            image = record["dynamodb"]["OldImage" if removed else "NewImage"]
            for row in derive_rows(Order.from_raw_data(image)):
                last[row.PK, row.SK] = row, removed
        with ViewRow.batch_write() as batch:
            for row, removed in last.values():
                if removed:
                    batch.delete(row)
                else:
                    batch.save(row)

    return handle


def derive_rows(order: Order) -> list[ViewRow]:
    """Derive the rows of an order."""
    data = {name: getattr(order, name) for name in ORDER_ATTRIBUTES}
    order_row = ViewRow(f"USER#{order.userId}", f"ORDER#{order.orderId}", data=data)
    if order.status in OPEN:
        order_row.GSI1_PK = f"ORDER#STATUS#{order.status}"
        order_row.GSI1_SK = f"CREATED_AT#{order.createdAt}"
    product_rows = [
        ViewRow(
            f"ORDER#{order.orderId}",
            f"PRODUCT#{line.productId}",
            GSI2_PK=f"PRODUCT#{line.productId}",
            GSI2_SK=f"USER#{order.userId}",
            data={name: getattr(order, name) for name in ORDER_ATTRIBUTES_OF_LINE}
            | {name: getattr(line, name) for name in LINE_ATTRIBUTES},
        )
        for line in order.lines
    ]
    return [order_row, *product_rows]
