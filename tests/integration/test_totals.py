"""Totals on real engines: from a put into a source table to counts, sums and rankings."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from adminview.local.local_cloud import LocalCloud
from adminview.model import Registry
from adminview.model.item import to_python
from adminview.model.row import VIEW_TABLE
from adminview.model.total import totals_table
from tests.support import totals_views

REGISTRY = Registry.of([totals_views])


@pytest.fixture
def cloud(start: Callable[[Registry], LocalCloud]) -> LocalCloud:
    return start(REGISTRY)


def put(cloud: LocalCloud, number: int, **changes: Any) -> None:
    lines = {"eggs": {"units": 2, "revenue": Decimal("5.98")}}
    item = {"id": str(number), "status": "PENDING", "shop": "north", "day": "2025-03-01"}
    cloud.put("Orders", item | {"total": Decimal("5.98"), "lines": lines, "note": "-"} | changes)


def answers(cloud: LocalCloud, pattern: str, **parameters: object) -> list[dict[str, Any]]:
    return [to_python(row["data"]) for row in cloud.query(pattern, **parameters)]


def test_orders_are_counted_by_status(cloud: LocalCloud) -> None:
    for number in range(5):
        put(cloud, number)
    cloud.settle()
    put(cloud, 1, status="SHIPPED")
    put(cloud, 2, status="SHIPPED", note="changed twice")
    put(cloud, 2, status="PAID", note="changed twice")
    cloud.delete("Orders", {"id": "4"})
    cloud.settle()
    assert answers(cloud, "orders-per-status") == [
        {"status": "PAID", "count": 1},
        {"status": "PENDING", "count": 2},
        {"status": "SHIPPED", "count": 1},
    ]
    assert answers(cloud, "orders-in-status", status="PENDING") == [
        {"status": "PENDING", "count": 2}
    ]
    assert cloud.query_engine.count("orders-per-status") == 3


def test_sums_are_exact_and_averages_are_computed_when_reading(cloud: LocalCloud) -> None:
    put(cloud, 1, total=Decimal("0.1"), day="2025-03-01")
    put(cloud, 2, total=Decimal("0.2"), day="2025-03-01")
    put(cloud, 3, total=Decimal(10), day="2025-03-02")
    put(cloud, 4, total=Decimal(1), day="2025-03-09")
    cloud.settle()
    assert answers(cloud, "daily-sales", shop="north", start="2025-03-01", end="2025-03-08") == [
        {
            "shop": "north",
            "day": "2025-03-01",
            "count": 2,
            "revenue": Decimal("0.3"),
            "average_revenue": Decimal("0.15"),
        },
        {
            "shop": "north",
            "day": "2025-03-02",
            "count": 1,
            "revenue": 10,
            "average_revenue": 10,
        },
    ]


def test_best_sellers_come_in_the_order_of_their_revenue(cloud: LocalCloud) -> None:
    for number, (product, revenue) in enumerate([("a", 9), ("b", 30), ("c", 0), ("b", 1)]):
        put(cloud, number, lines={product: {"units": 1, "revenue": revenue}})
    cloud.settle()
    ranked = [
        (row["product"], row["revenue"], row["units"]) for row in answers(cloud, "best-sellers")
    ]
    assert ranked == [("b", 31, 2), ("a", 9, 1), ("c", 0, 1)]


def test_a_total_of_no_rows_is_hidden_and_expires(cloud: LocalCloud) -> None:
    put(cloud, 1)
    cloud.settle()
    cloud.delete("Orders", {"id": "1"})
    cloud.settle()
    assert answers(cloud, "orders-per-status") == []
    assert answers(cloud, "best-sellers") == []
    stored = cloud.clients.dynamodb.scan(TableName=totals_table(VIEW_TABLE))["Items"]
    assert stored
    assert all(int(item["count"]["N"]) == 0 and "expires" in item for item in stored)
    put(cloud, 2)
    cloud.settle()
    assert answers(cloud, "orders-per-status") == [{"status": "PENDING", "count": 1}]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"total": Decimal("1E20")}, "revenue has more than 20 digits before the point"),
        ({"total": Decimal("1E-10")}, "revenue has more than 9 decimal places"),
        ({"status": ""}, "status is empty"),
        ({"day": "x" * 1025}, "the values of its group are too long"),
    ],
)
def test_an_item_whose_contribution_is_out_of_range_is_a_dead_letter_and_blocks_nothing(
    cloud: LocalCloud, wrong: dict[str, Any], why: str
) -> None:
    put(cloud, 1)
    put(cloud, 2)
    cloud.settle()
    put(cloud, 1, **wrong)
    put(cloud, 3)
    cloud.settle()
    (letter,) = cloud.letters()
    assert why in letter["error"]["reason"]
    assert answers(cloud, "orders-per-status") == [{"status": "PENDING", "count": 3}]
    put(cloud, 1, status="PAID")
    cloud.settle()
    assert answers(cloud, "orders-per-status") == [
        {"status": "PAID", "count": 1},
        {"status": "PENDING", "count": 2},
    ]
