"""`connect`: queries from Python, on real engines."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, assert_type

import boto3
import pytest

from adminview import (
    AccessPattern,
    Index,
    Item,
    PatternNotReadyError,
    QueryError,
    Registry,
    Row,
    RowPage,
    Rows,
    Source,
    ViewClient,
    connect,
    view,
)
from adminview.local.local_cloud import LocalCloud
from adminview.model.errors import ServiceError
from adminview.testing import LocalView
from tests.support import totals_views
from tests.support.model import USER, order, registry

Start = Callable[[Registry], LocalCloud]

things = Source("Things", partition_key="id")
by_colour = Index("ByColour", partition="colour", include=["data"], shards=3)
of_colour = AccessPattern("of-colour", index=by_colour, partition="{colour}")
owned = AccessPattern("owned", partition="{id}", shows=("data", "_owner"))


@view(things)
def thing(item: Item) -> Iterator[Row]:
    yield Row(item["id"], "THING", data=item, indexes=[by_colour(item["colour"])])


def things_model() -> Registry:
    module = ModuleType("things")
    module.__dict__.update(
        things=things, thing=thing, by_colour=by_colour, of_colour=of_colour, owned=owned
    )
    return replace(Registry.of([module]), modules=())


@pytest.fixture(autouse=True)
def no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without settings of AWS: a local engine must do without."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)


@pytest.fixture
def shop(start: Start) -> LocalCloud:
    """Start the shop, with a user and five orders."""
    cloud = start(registry())
    cloud.put("Users", USER)
    for day in range(1, 6):
        cloud.put("Orders", order(SK=f"2025-03-0{day}#{day}", OrderId=str(day)))
    cloud.settle()
    return cloud


def client_of(cloud: LocalCloud) -> ViewClient:
    return connect(endpoint=cloud.engine.dynamodb_url, views=cloud.registry)


def order_ids(rows: Any) -> list[str]:
    return [row["data"]["OrderId"] for row in rows]


def test_a_query_iterates_over_plain_rows_and_can_be_repeated(shop: LocalCloud) -> None:
    rows = client_of(shop).query("orders-of-user", user_id="user-123")
    assert_type(rows, Rows)
    assert order_ids(rows) == order_ids(rows) == ["1", "2", "3", "4", "5"]
    first = rows.first()
    assert_type(first, dict[str, Any] | None)
    assert first
    assert [*first][:2] == ["PK", "SK"]
    assert [*first][-1] == "data"
    assert (first["PK"], first["SK"]) == ("USER#user-123", "ORDER#2025-03-01#1")
    assert first["GSI1_PK"] == "ORDER#STATUS#PENDING"
    assert first["data"]["Total"] == Decimal(15)
    assert first["data"]["Items"][0]["Name"] == "Eggs"
    assert not [name for name in first if name.startswith("_")]


def test_rows_come_in_the_requested_order_and_are_counted(shop: LocalCloud) -> None:
    view = client_of(shop)
    rows = view.query("orders-of-user", user_id="user-123", order="desc")
    assert order_ids(rows) == ["5", "4", "3", "2", "1"]
    assert rows.count() == 5
    nobody = view.query("orders-of-user", user_id="nobody")
    assert (nobody.first(), nobody.count(), [*nobody]) == (None, 0, [])


def test_a_page_has_the_cursor_of_the_next(shop: LocalCloud) -> None:
    view = client_of(shop)
    rows = view.query("orders-of-user", user_id="user-123")
    page = rows.page(limit=3)
    assert_type(page, RowPage)
    assert order_ids(page.rows) == ["1", "2", "3"]
    last = view.query("orders-of-user", user_id="user-123").page(page.cursor, limit=3)
    assert order_ids(last.rows) == ["4", "5"]
    assert last.cursor is None
    with pytest.raises(QueryError, match="the cursor belongs to another access pattern"):
        view.query("orders-of-user", user_id="nobody").page(page.cursor)


def test_more_rows_than_a_page_are_read(start: Start) -> None:
    cloud = start(things_model())
    for number in range(130):
        cloud.put("Things", {"id": f"{number:03}", "colour": "red"})
    cloud.settle()
    rows = client_of(cloud).query("of-colour", colour="red")
    assert sorted(row["PK"] for row in rows) == [f"{number:03}" for number in range(130)]
    assert len([*islice(rows, 60)]) == 60
    assert rows.count() == 130


def test_joined_rows_are_under_their_names(shop: LocalCloud) -> None:
    row = client_of(shop).query("buyers-of-product", product_id="product-def-789").first()
    assert row
    assert row["joined"]["profile"]["data"]["name"] == "Ada"
    assert row["joined"]["profile"]["PK"] == "USER#user-123"


def test_one_row_is_read_by_its_key(shop: LocalCloud) -> None:
    view = client_of(shop)
    profile = view.row("USER#user-123", "PROFILE")
    assert profile
    assert profile["data"]["email"] == "ada@shop.example"
    assert "_owner" not in profile
    assert view.row("USER#user-123", "NOTHING") is None


def test_every_type_of_dynamodb_is_plain_python(start: Start) -> None:
    cloud = start(things_model())
    item = {
        "id": "1",
        "colour": "red",
        "bytes": b"\x00\xff",
        "digits": Decimal("0.10000000000000000000000000000000000001"),
        "nothing": None,
        "truth": True,
        "texts": {"a", "b"},
        "numbers": {Decimal(1), Decimal("2.5")},
        "many": {b"a", b"b"},
        "map": {"list": [1, {"deep": b"x"}], "empty": {}},
    }
    cloud.put("Things", item)
    cloud.settle()
    view = client_of(cloud)
    (row,) = view.query("of-colour", colour="red")
    assert row == {"PK": "1", "SK": "THING", "colour": "red", "data": item}
    assert type(row["data"]["map"]["list"][0]) is Decimal
    assert view.row("1", "THING") == row


def test_provenance_is_in_a_row_whose_access_pattern_shows_it(start: Start) -> None:
    cloud = start(things_model())
    cloud.put("Things", {"id": "1", "colour": "red"})
    cloud.settle()
    (row,) = client_of(cloud).query("owned", id="1")
    assert row["_owner"] == "Things/1"
    assert row.keys() == {"PK", "SK", "colour", "data", "_owner"}


def test_totals_are_rows(start: Start) -> None:
    cloud = start(Registry.of([totals_views]))
    item = {"status": "PENDING", "shop": "north", "day": "2025-03-01", "note": "-"}
    for number in range(3):
        lines = {"eggs": {"units": 2, "revenue": Decimal("5.98")}}
        if number:
            lines["tea"] = {"units": 1, "revenue": Decimal(40)}
        cloud.put("Orders", item | {"id": str(number), "total": 5, "lines": lines})
    cloud.settle()
    view = client_of(cloud)
    best = view.query("best-sellers")
    assert [row["data"]["product"] for row in best] == ["tea", "eggs"]
    assert best.count() == 2
    page = best.page(limit=1)
    assert page.rows[0] == {
        "PK": "ProductSales.1",
        "SK": "tea",
        "data": {
            "product": "tea",
            "count": 2,
            "units": 2,
            "average_units": 1,
            "revenue": 80,
            "average_revenue": 40,
        },
        "joined": {"details": None},
    }
    assert [row["SK"] for row in best.page(page.cursor).rows] == ["eggs"]
    assert [row["SK"] for row in view.query("best-sellers", order="asc")] == ["eggs", "tea"]
    march = view.query("daily-sales", shop="north", start="2025-03-01", end="2025-03-31")
    assert [(row["data"]["day"], row["data"]["revenue"]) for row in march] == [("2025-03-01", 15)]


def test_local_view_returns_the_same_rows(shop: LocalCloud) -> None:
    view = client_of(shop)
    queries: dict[str, dict[str, Any]] = {
        "orders-of-user": {"user_id": "user-123"},
        "buyers-of-product": {"product_id": "product-def-789"},
    }
    for pattern, parameters in queries.items():
        rows = LocalView(shop).query(pattern, **parameters)
        assert rows
        assert [*view.query(pattern, **parameters)] == rows


def test_the_engine_may_be_named_by_the_environment(
    shop: LocalCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in shop.environment.items():
        monkeypatch.setenv(name, value)
    assert connect().query("orders-of-user", user_id="user-123").count() == 5
    monkeypatch.setenv("ADMINVIEW_PENDING_PATTERNS", '{"orders-of-user": null}')
    view = connect()
    with pytest.raises(PatternNotReadyError, match="'orders-of-user' is not ready"):
        view.query("orders-of-user", user_id="user-123")


def test_a_table_that_does_not_exist_is_reported_with_what_to_check(
    shop: LocalCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADMINVIEW_TABLE", "Another")
    view = client_of(shop)
    rows = view.query("orders-of-user", user_id="user-123")
    text = r"Another: AWS answered ResourceNotFoundException; check the region, prefix and account"
    for read in (rows.first, rows.count, lambda: [*rows], lambda: view.row("a", "b")):
        with pytest.raises(ServiceError, match=text):
            read()
