"""Orders on both sides of the moment when a time in milliseconds got one more digit."""

from decimal import Decimal
from typing import Any

from examples.question import Found, Items, Question

OLD, LONGER = 999_999_999_999, 1_000_000_000_000  # a tick apart, in September 2001
NOW = 1_764_547_200_000


def order(order_id: str, customer_id: str, status: str, at: int) -> dict[str, Any]:
    """Write an order."""
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


def found(order_id: str, at: int) -> Found:
    """Expect an order."""
    return Found(f"ORDER#{order_id}", "DETAILS", {"orderId": order_id, "orderDate": at})


SHIPPED = {"customer_id": "c-7", "status": "SHIPPED"}

QUESTIONS = [
    Question("order-details", {"order_id": "1004"}, [found("1004", NOW + 1)]),
    Question(
        "orders-of-customer-by-status",
        SHIPPED,
        [found("1001", OLD), found("1002", LONGER), found("1003", NOW)],
    ),
    Question(
        "latest-orders-of-customer-by-status",
        SHIPPED,
        [found("1003", NOW), found("1002", LONGER), found("1001", OLD)],
    ),
    Question(
        "orders-of-customer-between",
        SHIPPED | {"start": OLD, "end": LONGER},
        [found("1001", OLD), found("1002", LONGER)],
    ),
    Question("orders-of-customer-between", SHIPPED | {"start": NOW + 1, "end": NOW + 9}, []),
    Question(
        "orders-of-customer-since",
        SHIPPED | {"since": LONGER},
        [found("1002", LONGER), found("1003", NOW)],
    ),
]
