"""Orders on both sides of the moment when a time in milliseconds got one more digit."""

from decimal import Decimal
from typing import Any

from examples.query import ExampleQuery, ExpectedRow, Items

OLD, LONGER = 999_999_999_999, 1_000_000_000_000  # a tick apart, in September 2001
NOW = 1_764_547_200_000


def order(order_id: str, customer_id: str, status: str, at: int) -> dict[str, Any]:
    key = {"orderId": order_id, "customerId": customer_id}
    return key | {"status": status, "orderDate": at, "total": Decimal("42.00")}


ITEMS: Items = {
    "Orders": [
        order("1001", "c-7", "SHIPPED", OLD),
        order("1002", "c-7", "SHIPPED", LONGER),
        order("1003", "c-7", "SHIPPED", NOW),
        order("1004", "c-7", "PENDING", NOW + 1),
        order("1005", "c-8", "SHIPPED", NOW + 2),
    ]
}


def expected(order_id: str, at: int) -> ExpectedRow:
    return ExpectedRow(f"ORDER#{order_id}", "DETAILS", {"orderId": order_id, "orderDate": at})


SHIPPED = {"customer_id": "c-7", "status": "SHIPPED"}

QUERIES = [
    ExampleQuery("order-details", {"order_id": "1004"}, [expected("1004", NOW + 1)]),
    ExampleQuery(
        "orders-of-customer-by-status",
        SHIPPED,
        [expected("1001", OLD), expected("1002", LONGER), expected("1003", NOW)],
    ),
    ExampleQuery(
        "latest-orders-of-customer-by-status",
        SHIPPED,
        [expected("1003", NOW), expected("1002", LONGER), expected("1001", OLD)],
    ),
    ExampleQuery(
        "orders-of-customer-between",
        SHIPPED | {"start": OLD, "end": LONGER},
        [expected("1001", OLD), expected("1002", LONGER)],
    ),
    ExampleQuery("orders-of-customer-between", SHIPPED | {"start": NOW + 1, "end": NOW + 9}, []),
    ExampleQuery(
        "orders-of-customer-since",
        SHIPPED | {"since": LONGER},
        [expected("1002", LONGER), expected("1003", NOW)],
    ),
]
