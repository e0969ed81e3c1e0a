"""Two customers' orders."""

from decimal import Decimal
from typing import Any

from examples.question import Found, Items, Question


def order(order_id: str, customer_id: str, status: str, date: str) -> dict[str, Any]:
    """Write an order."""
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


def found(order_id: str, status: str, date: str) -> Found:
    """Expect an order of the first customer."""
    return Found(f"ORDER#{order_id}", "CUSTOMER#c-1", {"status": status, "orderDate": date})


QUESTIONS = [
    Question(
        "orders-of-customer",
        {"customer_id": "c-1"},
        [
            found("o-5", "CANCELLED", "2025-12-24"),
            found("o-3", "PENDING", "2025-10-30"),
            found("o-1", "PENDING", "2025-11-03"),
            found("o-4", "PENDING", "2025-11-30"),
            found("o-2", "SHIPPED", "2025-11-01"),
        ],
    ),
    Question(
        "orders-of-customer-by-status",
        {"customer_id": "c-1", "status": "PENDING"},
        [
            found("o-3", "PENDING", "2025-10-30"),
            found("o-1", "PENDING", "2025-11-03"),
            found("o-4", "PENDING", "2025-11-30"),
        ],
    ),
    Question("orders-of-customer-by-status", {"customer_id": "c-1", "status": "PAID"}, []),
    Question(
        "orders-of-customer-between",
        {
            "customer_id": "c-1",
            "status": "PENDING",
            "start": "2025-11-01",
            "end": "2025-11-30",
        },
        [found("o-1", "PENDING", "2025-11-03"), found("o-4", "PENDING", "2025-11-30")],
    ),
]
