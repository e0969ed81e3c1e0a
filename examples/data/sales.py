"""Orders of three customers in two categories."""

from decimal import Decimal
from typing import Any

from examples.query import ExampleQuery, ExpectedRow, Items


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


def expected(order_id: str, category: str, spent: int) -> ExpectedRow:
    """Expect an order in a category."""
    return ExpectedRow(f"ORDER#{order_id}", f"CATEGORY#{category}", {"spent": spent})


QUERIES = [
    ExampleQuery(
        "orders-of-category",
        {"category": "electronics"},
        [
            expected("o-2", "electronics", 80),
            expected("o-1", "electronics", 150),
            expected("o-4", "electronics", 5),
        ],
    ),
    ExampleQuery(
        "orders-of-category",
        {"category": "clothing"},
        [expected("o-1", "clothing", 25), expected("o-3", "clothing", 80)],
    ),
    ExampleQuery("orders-of-category", {"category": "electronics"}, counted=3),
    ExampleQuery(
        "orders-of-category-between",
        {"category": "electronics", "start": "2025-03-02", "end": "2025-04-01"},
        [expected("o-1", "electronics", 150), expected("o-4", "electronics", 5)],
    ),
    ExampleQuery(
        "orders-of-category-in",
        {"category": "electronics", "month": "2025-03"},
        [expected("o-2", "electronics", 80), expected("o-1", "electronics", 150)],
    ),
]
