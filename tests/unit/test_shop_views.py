"""The shop's views: which item becomes which rows, in which indexes."""

from typing import Any

import pytest

from adminview.model.item import to_python
from adminview.model.limits import ROW_LIMIT
from adminview.sync.derive import derive
from adminview.views import migrations
from tests.support.model import FAVOURITE, PAYMENT, PRODUCT, USER, order
from tests.support.shop import registry
from tests.support.stream_records import image


def rows(source: str, item: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Derive the rows of an item, without their data and their contributions to totals."""
    model = registry()
    derived = derive(model.views_of(model.source(source)), image(item), room=ROW_LIMIT)
    left_out = {"PK", "SK", "data", "_totals"}
    return {
        key: {name: value["S"] for name, value in row.items() if name not in left_out}
        for key, row in derived.rows.items()
    }


def contributed(item: dict[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return what the rows of an order contribute to each group of each total."""
    model = registry()
    derived = derive(model.views_of(model.source("Orders")), image(item), room=ROW_LIMIT)
    groups: dict[str, dict[str, dict[str, Any]]] = {}
    for row in derived.rows.values():
        stored = to_python(row["_totals"]) if "_totals" in row else {}
        for total, amounts in stored.items():
            groups.setdefault(total, {}).update(amounts)
    return groups


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


LINES = [
    {"Id": "eggs", "Price": 3, "Quantity": 2},
    {"Id": "milk"},
    {"Id": "eggs", "Price": 4},
]
ORDER_TOTALS = {
    "DailySales.1": {"2025-03-01": {"revenue": 10}},
    "CustomerSpending.1": {"user-123": {"spent": 10, "rank": 10}},
    "ProductSales.1": {
        "eggs": {"units": 3, "revenue": 10, "rank": 10},
        "milk": {"units": 1, "revenue": 0, "rank": 0},
    },
}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"OrdersPerStatus.1": {"PENDING": {}}} | ORDER_TOTALS),
        ({"Status": "CANCELLED"}, {"OrdersPerStatus.1": {"CANCELLED": {}}}),
    ],
)
def test_an_order_counts_as_sold_unless_it_is_cancelled(
    changes: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert contributed(order(Items=LINES, Total=10) | changes) == expected


def test_an_order_without_a_total_is_counted_and_adds_nothing() -> None:
    item = order()
    del item["Total"]
    assert contributed(item)["DailySales.1"] == {"2025-03-01": {"revenue": 0}}


def test_a_favourite_contributes_to_no_total() -> None:
    assert contributed(FAVOURITE) == {}


def test_the_migration_delivers_an_old_order_three_weeks_after_its_date() -> None:
    migration = migrations()["orders-delivery-date"]
    update = migration.update(image(order(OrderDate="2025-02-28")))
    assert update is not None
    assert update.sets == {"DeliveryDate": {"S": "2025-03-21"}}
    assert migration.update(image(FAVOURITE)) is None
