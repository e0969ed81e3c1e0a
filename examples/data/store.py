"""Two users' orders, and three products of which two are featured."""

from decimal import Decimal
from typing import Any

from examples.query import ExampleQuery, ExpectedRow, Items


def kind(entity: str, pk: str, sk: str, **more: Any) -> dict[str, Any]:
    return {"PK": pk, "SK": sk, "EntityType": entity} | more


def order(user: str, order_id: str, status: str, total: str) -> dict[str, Any]:
    """Write an order under its user."""
    more = {"orderId": order_id, "status": status, "total": Decimal(total)}
    return kind("Order", f"USER#{user}", f"ORDER#{order_id}", **more)


def line(order_id: str, number: int, product_id: str, quantity: int) -> dict[str, Any]:
    """Write a line under its order."""
    more = {"productId": product_id, "quantity": quantity}
    return kind("OrderItem", f"ORDER#{order_id}", f"ITEM#{number}", **more)


ITEMS: Items = {
    "MyTable": [
        kind("User", "USER#123", "PROFILE", userId="123", name="Mai", email="mai@store.example"),
        kind("User", "USER#456", "PROFILE", userId="456", name="Noor", email="noor@store.example"),
        kind("Address", "USER#123", "ADDRESS#1", street="1 Lake Road", city="Hà Nội"),
        kind("Address", "USER#123", "ADDRESS#2", street="2 Hill Lane", city="臺北"),
        order("123", "2024-001", "shipped", "99.99"),
        order("123", "2024-002", "pending", "49.99"),
        order("456", "2024-003", "pending", "29.99"),
        line("2024-001", 1, "PROD#456", 2),
        line("2024-001", 2, "PROD#789", 1),
        line("2024-002", 1, "PROD#456", 1),
        kind("Product", "PROD#456", "PRODUCT", name="Widget", price=Decimal("29.99")),
        kind("Product", "PROD#789", "PRODUCT", name="Gadget", price=Decimal(5), featured=True),
        kind("Product", "PROD#012", "PRODUCT", name="Gizmo", price=Decimal(7), featured=True),
    ]
}


def expected_order(user: str, order_id: str, status: str) -> ExpectedRow:
    return ExpectedRow(f"USER#{user}", f"ORDER#{order_id}", {"orderId": order_id, "status": status})


def expected_line(number: int, product_id: str, quantity: int) -> ExpectedRow:
    """Expect a line of the first order."""
    data = {"productId": product_id, "quantity": quantity}
    return ExpectedRow("ORDER#2024-001", f"ITEM#{number}", data)


PROFILE = ExpectedRow("USER#123", "PROFILE", {"name": "Mai", "email": "mai@store.example"})
LAKE = ExpectedRow("USER#123", "ADDRESS#1", {"city": "Hà Nội"})
HILL = ExpectedRow("USER#123", "ADDRESS#2", {"city": "臺北"})
SHIPPED = expected_order("123", "2024-001", "shipped")
PENDING = expected_order("123", "2024-002", "pending")
OF_NOOR = expected_order("456", "2024-003", "pending")
LINES = [expected_line(1, "PROD#456", 2), expected_line(2, "PROD#789", 1)]

QUERIES = [
    ExampleQuery("user-profile", {"user_id": "123"}, [PROFILE]),
    ExampleQuery("addresses-of-user", {"user_id": "123"}, [LAKE, HILL]),
    ExampleQuery("orders-of-user", {"user_id": "123"}, [PENDING, SHIPPED]),
    ExampleQuery("orders-of-user", {"user_id": "123"}, [PENDING, SHIPPED], pages_of=1),
    ExampleQuery("everything-of-user", {"user_id": "123"}, [LAKE, HILL, SHIPPED, PENDING, PROFILE]),
    ExampleQuery("order-by-id", {"order_id": "2024-001"}, [SHIPPED]),
    ExampleQuery("order-by-id", {"order_id": "2024-999"}, []),
    ExampleQuery("order-with-items", {"order_id": "2024-001"}, [*LINES, SHIPPED]),
    ExampleQuery(
        "product-details",
        {"product_id": "456"},
        [ExpectedRow("PROD#456", "PRODUCT", {"name": "Widget", "price": Decimal("29.99")})],
    ),
    ExampleQuery(
        "featured-products",
        {},
        [
            ExpectedRow("PROD#012", "PRODUCT", {"name": "Gizmo"}),
            ExpectedRow("PROD#789", "PRODUCT", {"name": "Gadget"}),
        ],
    ),
    ExampleQuery("orders-by-status", {"status": "pending"}, [PENDING, OF_NOOR]),
]
