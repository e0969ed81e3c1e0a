"""Orders of three customers in two categories."""

from decimal import Decimal
from typing import Any

from examples.question import Found, Items, Question


def order(order_id: str, customer_id: str, date: str, **spent: list[int]) -> dict[str, Any]:
    """Write an order with a line for each price of each category."""
    lines = [
        {"category": category, "price": Decimal(price)}
        for category, prices in spent.items()
        for price in prices
    ]
    return {"orderId": order_id, "customerId": customer_id, "orderDate": date, "lines": lines}


ITEMS: Items = {
    "Orders": [
        order("o-1", "c-1", "2025-03-09", electronics=[120, 30], clothing=[25]),
        order("o-2", "c-2", "2025-03-01", electronics=[80]),
        order("o-3", "c-3", "2025-04-02", clothing=[40, 40]),
        order("o-4", "c-1", "2025-04-01", electronics=[5]),
    ]
}


def found(order_id: str, category: str, spent: int) -> Found:
    """Expect an order in a category."""
    return Found(f"ORDER#{order_id}", f"CATEGORY#{category}", {"spent": spent})


QUESTIONS = [
    Question(
        "orders-of-category",
        {"category": "electronics"},
        [
            found("o-2", "electronics", 80),
            found("o-1", "electronics", 150),
            found("o-4", "electronics", 5),
        ],
    ),
    Question(
        "orders-of-category",
        {"category": "clothing"},
        [found("o-1", "clothing", 25), found("o-3", "clothing", 80)],
    ),
    Question("orders-of-category", {"category": "electronics"}, counted=3),
    Question(
        "orders-of-category-between",
        {"category": "electronics", "start": "2025-03-02", "end": "2025-04-01"},
        [found("o-1", "electronics", 150), found("o-4", "electronics", 5)],
    ),
    Question(
        "orders-of-category-in",
        {"category": "electronics", "month": "2025-03"},
        [found("o-2", "electronics", 80), found("o-1", "electronics", 150)],
    ),
]
