"""Two customers' orders."""

from decimal import Decimal
from typing import Any

from examples.query import ExampleQuery, ExpectedRow, Items


def order(order_id: str, customer_id: str, status: str, date: str) -> dict[str, Any]:
    key = {"orderId": order_id, "customerId": customer_id}
    return key | {"status": status, "orderDate": date, "total": Decimal("19.90")}


ITEMS: Items = {
    "Orders": [
        order("o-1", "c-1", "PENDING", "2025-11-03"),
        order("o-2", "c-1", "SHIPPED", "2025-11-01"),
        order("o-3", "c-1", "PENDING", "2025-10-30"),
        order("o-4", "c-1", "PENDING", "2025-11-30"),
        order("o-5", "c-1", "CANCELLED", "2025-12-24"),
        order("o-6", "c-2", "PENDING", "2025-11-04"),
    ]
}


def expected(order_id: str, status: str, date: str) -> ExpectedRow:
    """Expect an order of the first customer."""
    return ExpectedRow(f"ORDER#{order_id}", "CUSTOMER#c-1", {"status": status, "orderDate": date})


QUERIES = [
    ExampleQuery(
        "orders-of-customer",
        {"customer_id": "c-1"},
        [
            expected("o-5", "CANCELLED", "2025-12-24"),
            expected("o-3", "PENDING", "2025-10-30"),
            expected("o-1", "PENDING", "2025-11-03"),
            expected("o-4", "PENDING", "2025-11-30"),
            expected("o-2", "SHIPPED", "2025-11-01"),
        ],
    ),
    ExampleQuery(
        "orders-of-customer-by-status",
        {"customer_id": "c-1", "status": "PENDING"},
        [
            expected("o-3", "PENDING", "2025-10-30"),
            expected("o-1", "PENDING", "2025-11-03"),
            expected("o-4", "PENDING", "2025-11-30"),
        ],
    ),
    ExampleQuery("orders-of-customer-by-status", {"customer_id": "c-1", "status": "PAID"}, []),
    ExampleQuery(
        "orders-of-customer-between",
        {
            "customer_id": "c-1",
            "status": "PENDING",
            "start": "2025-11-01",
            "end": "2025-11-30",
        },
        [expected("o-1", "PENDING", "2025-11-03"), expected("o-4", "PENDING", "2025-11-30")],
    ),
]
