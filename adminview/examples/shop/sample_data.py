"""The data of a small shop: what its services write on the first day, and on the second."""

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from adminview.local.source_writes import Delete, Put
from adminview.model import AccessPattern

ADA, GRACE, ALAN = "user-123", "user-456", "user-789"
EGGS, MILK, TEA = "product-def-789", "product-abc-123", "product-ghi-456"


def user(user_id: str, name: str, **more: Any) -> Put:
    email = f"{name.lower()}@shop.example"
    common = {"userId": user_id, "name": name, "email": email, "createdAt": "2025-01-02"}
    return Put("Users", common | more)


def product(product_id: str, name: str, price: str, **more: Any) -> Put:
    common = {"productId": product_id, "name": name, "price": Decimal(price), "category": "Fresh"}
    return Put("Products", common | more)


PRICE = Decimal("2.99")
NAMES = {EGGS: "Eggs", MILK: "Milk", TEA: "Tea"}


def order(
    customer: str, day: str, number: str, status: str, products: Iterable[str], **more: Any
) -> Put:
    """Return an order of one unit of each product; a product that is named twice is two units."""
    lines: list[dict[str, Any]] = [
        {
            "Id": id_,
            "Name": NAMES[id_],
            "Price": PRICE,
            **({"Quantity": units} if units > 1 else {}),
        }
        for id_, units in Counter(products).items()
    ]
    common = {
        "CustomerId": customer,
        "SK": f"{day}#{number}",
        "OrderId": number,
        "OrderDate": day,
        "CreatedAt": f"{day}T09:00:00Z",
        "Status": status,
        "Total": sum(line["Price"] * line.get("Quantity", 1) for line in lines),
        "Items": lines,
    }
    return Put("Orders", common | more)


def favourite(customer: str, product_id: str) -> Put:
    """Return a favourite, which is in the table of the orders."""
    key = {"CustomerId": customer, "SK": f"FAVOURITE#{product_id}"}
    return Put("Orders", key | {"ItemId": product_id, "ItemName": NAMES[product_id]})


def payment(transaction: str, order_number: str, status: str) -> Put:
    common = {"transactionId": transaction, "orderId": order_number, "status": status}
    more = {"amount": Decimal("5.98"), "currency": "EUR", "createdAt": "2025-03-01T09:05:00Z"}
    return Put("Payments", common | more)


HOME = {"id": "home", "street": "12 Hàng Bạc", "city": "Hà Nội"}
WORK = {"id": "work", "street": "7 Xinyi Road", "city": "臺北"}

FIRST_DAY: tuple[Put | Delete, ...] = (
    user(ADA, "Ada", addresses=[HOME, WORK]),
    user(GRACE, "Grace", addresses=[HOME]),
    user(ALAN, "Alan"),
    product(EGGS, "Eggs", "2.99", featured=True),
    product(MILK, "Milk", "1.49"),
    product(TEA, "Tea", "4.20", featured=True),
    order(ADA, "2025-03-01", "2121195", "PENDING", [EGGS, MILK], TransactionId="txn-abc-456"),
    order(ADA, "2025-03-04", "2121301", "PENDING", [TEA]),
    order(GRACE, "2025-03-02", "2121207", "PENDING", [EGGS], DeliveryDate="2025-03-21"),
    order(ALAN, "2025-02-11", "2120044", "DELIVERED", [MILK, MILK, MILK, TEA]),
    favourite(ADA, EGGS),
    favourite(ADA, TEA),
    favourite(GRACE, MILK),
    payment("txn-abc-456", "2121195", "OK"),
    payment("txn-def-789", "2121207", "FAILED"),
    Put("Orders", {"CustomerId": ADA, "SK": "NOTE#1", "Text": "prefers mornings"}),
)

MOVED = order(ADA, "2025-03-01", "2121195", "PAID", [EGGS, MILK], TransactionId="txn-abc-456")

SECOND_DAY: tuple[Put | Delete, ...] = (
    MOVED,
    order(ADA, "2025-03-04", "2121301", "CANCELLED", [TEA]),
    user(ADA, "Ada", addresses=[HOME]),
    user(GRACE, "Grace", addresses=[HOME], lastSeen="2025-03-05"),  # changes no row
    product(TEA, "Tea", "4.20"),
    Delete("Users", {"userId": ALAN}),
    Delete("Orders", {"CustomerId": ADA, "SK": f"FAVOURITE#{TEA}"}),
)


def without_status(put: Put) -> Put:
    """Return an order that its view cannot read."""
    return Put("Orders", {name: put.item[name] for name in put.item if name != "Status"})


POISON = without_status(order(GRACE, "2025-03-06", "2121399", "PENDING", [EGGS]))

# Another one, and its fix, which changes no sum.
FIXED = order(ALAN, "2025-03-05", "2121388", "CANCELLED", [MILK])
BROKEN = without_status(FIXED)

# Parameters of queries by name, and by access pattern where a name has several meanings.
PARAMETERS: dict[str, str] = {
    "user_id": ADA,
    "customer_id": ADA,
    "product_id": EGGS,
    "order_id": "2121195",
    "transaction_id": "txn-abc-456",
    "delivery_date": "2025-03-21",
    "status": "PENDING",
    "start": "2025-03-01",
    "end": "2025-03-31",
}
SPECIAL: dict[str, dict[str, str]] = {
    "payments-by-status": {"status": "FAILED"},
    "orders-of-customer-by-status": {"status": "PAID"},
    "orders-of-customer-between": {"status": "PAID"},
}


def parameters(pattern: AccessPattern) -> dict[str, str]:
    """Return the required parameters of one of the shop's access patterns."""
    known = PARAMETERS | SPECIAL.get(pattern.name, {})
    return {name: known[name] for name in pattern.required}
