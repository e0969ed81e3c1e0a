"""The shop's views: which item becomes which rows, in which indexes."""

from typing import Any

import pytest

from adminview.model.limits import ROW_LIMIT
from adminview.sync.derive import derive
from adminview.views import migrations
from tests.support.model import FAVOURITE, PAYMENT, PRODUCT, USER, order
from tests.support.shop import registry
from tests.support.stream_records import image


def rows(source: str, item: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Derive the rows of an item, without their data."""
    model = registry()
    found = derive(model.views_of(model.source(source)), image(item), room=ROW_LIMIT)
    return {
        key: {name: value["S"] for name, value in row.items() if name not in {"PK", "SK", "data"}}
        for key, row in found.rows.items()
    }


DASHBOARD = {"customerId": "user-123", "status": "PENDING", "orderDate": "2025-03-01"}
BY_STATUS = {"GSI1_PK": "ORDER#STATUS#PENDING", "GSI1_SK": "CREATED_AT#2025-03-01T09:00:00Z"}
ORDER_KEY = ("USER#user-123", "ORDER#2025-03-01#2121195")
PURCHASES = {
    ("ORDER#2121195", f"PRODUCT#{product}#user-123#2025-03-01#2121195"): {
        "GSI2_PK": f"PRODUCT#{product}",
        "GSI2_SK": "USER#user-123",
    }
    for product in ("product-def-789", "product-abc-123")
}


@pytest.mark.parametrize(
    ("source", "item", "expected"),
    [
        (
            "Users",
            USER,
            {
                ("USER#user-123", "PROFILE"): {},
                ("USER#user-123", "ADDRESS#home"): {},
                ("USER#user-123", "ADDRESS#work"): {},
            },
        ),
        ("Users", {"userId": "u"}, {("USER#u", "PROFILE"): {}}),
        (
            "Products",
            PRODUCT,
            {
                ("PRODUCT#product-def-789", "DETAILS"): {
                    "FEATURED_PK": "PRODUCT#FEATURED",
                    "FEATURED_SK": "PRODUCT#product-def-789",
                }
            },
        ),
        ("Products", PRODUCT | {"featured": False}, {("PRODUCT#product-def-789", "DETAILS"): {}}),
        ("Orders", order(), {ORDER_KEY: DASHBOARD | BY_STATUS} | PURCHASES),
        (
            "Orders",
            order(Status="SHIPPED", TransactionId="txn-abc-456"),
            {ORDER_KEY: DASHBOARD | {"status": "SHIPPED", "GSI3_PK": "PAYMENT#txn-abc-456"}}
            | PURCHASES,
        ),
        ("Orders", order(Status="CANCELLED"), {ORDER_KEY: DASHBOARD | {"status": "CANCELLED"}}),
        ("Orders", FAVOURITE, {("USER#user-123", "FAVOURITE#484295"): {}}),
        ("Orders", {"CustomerId": "user-123", "SK": "NOTE#1"}, {}),
        (
            "Payments",
            PAYMENT,
            {
                ("ORDER#2121195", "PAYMENT#txn-abc-456"): {
                    "GSI1_PK": "PAYMENT#STATUS#FAILED",
                    "GSI1_SK": "CREATED_AT#2025-03-01T09:05:00Z",
                }
            },
        ),
        ("Payments", PAYMENT | {"status": "OK"}, {("ORDER#2121195", "PAYMENT#txn-abc-456"): {}}),
    ],
)
def test_an_item_becomes_these_rows_in_these_indexes(
    source: str, item: dict[str, Any], expected: dict[tuple[str, str], dict[str, str]]
) -> None:
    assert rows(source, item) == expected


def test_a_product_named_twice_in_an_order_is_bought_once() -> None:
    twice = order(Items=[{"Id": "p", "Name": "Eggs", "Price": 1}] * 2)
    assert [sk for _, sk in rows("Orders", twice)] == [
        "ORDER#2025-03-01#2121195",
        "PRODUCT#p#user-123#2025-03-01#2121195",
    ]


def test_the_migration_delivers_an_old_order_three_weeks_after_its_date() -> None:
    migration = migrations()["orders-delivery-date"]
    update = migration.update(image(order(OrderDate="2025-02-28")))
    assert update is not None
    assert update.sets == {"DeliveryDate": {"S": "2025-03-21"}}
    assert migration.update(image(FAVOURITE)) is None
