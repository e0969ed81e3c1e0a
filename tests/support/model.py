"""The model of the tests, and items of its sources."""

from functools import cache
from typing import Any

from adminview.model import Registry
from tests.support.views import sales, users


@cache
def registry() -> Registry:
    """Collect the views of `tests.support.views`."""
    return Registry.of([sales, users])


USER = {
    "userId": "user-123",
    "name": "Ada",
    "email": "ada@shop.example",
    "createdAt": "2025-01-02T10:00:00Z",
    "isActive": True,
    "addresses": [{"id": "home", "city": "Hanoi"}, {"id": "work", "city": "Taipei"}],
}

PRODUCT = {
    "productId": "product-def-789",
    "name": "Eggs",
    "category": "Fresh",
    "price": 3,
    "stock": 12,
    "featured": True,
}


def order(**changes: Any) -> dict[str, Any]:
    """Return an order of user-123 for two products."""
    return {
        "CustomerId": "user-123",
        "SK": "2025-03-01#2121195",
        "OrderId": "2121195",
        "Status": "PENDING",
        "OrderDate": "2025-03-01",
        "CreatedAt": "2025-03-01T09:00:00Z",
        "Total": 15,
        "Items": [
            {"Id": "product-def-789", "Name": "Eggs", "Price": 3},
            {"Id": "product-abc-123", "Name": "Milk", "Price": 12},
        ],
    } | changes


FAVOURITE = {
    "CustomerId": "user-123",
    "SK": "FAVOURITE#484295",
    "ItemId": "484295",
    "ItemName": "Eggs",
    "ItemPrice": "2.99",
    "ItemDescription": "Free Range Eggs",
    "ItemCategory": "Fresh",
}

PAYMENT = {
    "transactionId": "txn-abc-456",
    "orderId": "2121195",
    "amount": 15,
    "currency": "EUR",
    "status": "FAILED",
    "createdAt": "2025-03-01T09:05:00Z",
}
