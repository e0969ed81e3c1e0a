"""The shop, end to end on real engines: streams in, the specification's queries out."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import boto3
import pytest
from boto3.dynamodb.conditions import Key

from adminview.cli.output.tables import plain
from adminview.examples.shop import sample_data as shop
from adminview.examples.shop.sample_data import parameters
from adminview.local.local_cloud import LocalCloud
from adminview.local.source_writes import Delete, Put, apply
from adminview.model import AccessPattern, Source
from adminview.model.item import decode, to_python
from adminview.model.limits import ROW_LIMIT
from adminview.model.row import Attributes
from adminview.sync.derive import derive
from tests.support.shop import registry
from tests.support.stream_records import image


@pytest.fixture
def first_day(cloud: LocalCloud) -> LocalCloud:
    """Let the shop's first day be over."""
    apply(cloud, [*shop.FIRST_DAY])
    return cloud


@pytest.fixture
def second_day(first_day: LocalCloud) -> LocalCloud:
    """Let the second day be over too."""
    apply(first_day, [*shop.SECOND_DAY])
    return first_day


def derived(source: Source, item: Attributes) -> Mapping[tuple[str, str], Attributes]:
    return derive(registry().views_of(source), item, room=ROW_LIMIT).rows


def expected_rows(*steps: Put | Delete) -> dict[tuple[str, str], Any]:
    """Derive the rows of whatever items are left after *steps*, with no stream in between."""
    items: dict[tuple[Any, ...], Any] = {}
    for step in steps:
        source = registry().source(step.source)
        attributes = step.item if isinstance(step, Put) else step.key
        key = (source, *(attributes[attribute.name] for attribute in source.key))
        items[key] = step.item if isinstance(step, Put) else None
    return {
        key: compared(row)
        for (source, *_), item in items.items()
        if item
        for key, row in derive(
            registry().views_of(source), image(item), room=ROW_LIMIT
        ).rows.items()
    }


def actual_rows(cloud: LocalCloud) -> dict[tuple[str, str], Any]:
    """Read the view without provenance."""
    return {(row["PK"]["S"], row["SK"]["S"]): compared(row) for row in cloud.rows()}


def compared(row: Attributes) -> dict[str, Any]:
    """Leave provenance out, and let 4.20 equal 4.2, as DynamoDB does."""
    return {name: plain(decode(value)) for name, value in row.items() if not name.startswith("_")}


def test_the_view_is_exactly_the_union_of_rows_after_each_day(first_day: LocalCloud) -> None:
    assert actual_rows(first_day) == expected_rows(*shop.FIRST_DAY)
    apply(first_day, [*shop.SECOND_DAY])
    assert actual_rows(first_day) == expected_rows(*shop.FIRST_DAY, *shop.SECOND_DAY)


def test_a_whole_stream_delivered_again_changes_nothing(second_day: LocalCloud) -> None:
    before = second_day.rows()
    for source in second_day.sources:
        second_day.follow(source.stream_arn, source.delivery).drain()
    assert sorted(second_day.rows(), key=str) == sorted(before, key=str)


# The four queries of the specification, word for word.


@pytest.mark.usefixtures("plain_boto3", "first_day")
def test_query_5_1_finds_all_orders_of_a_user() -> None:
    dynamodb = boto3.resource("dynamodb")
    table = dynamodb.Table("AdminViewTable")

    response = table.query(
        KeyConditionExpression=Key("PK").eq("USER#user-123") & Key("SK").begins_with("ORDER#")
    )
    items = response["Items"]
    assert [item["data"]["OrderId"] for item in items] == ["2121195", "2121301"]


@pytest.mark.usefixtures("plain_boto3", "first_day")
def test_query_5_2_finds_the_order_behind_a_payment() -> None:
    dynamodb = boto3.resource("dynamodb")
    table = dynamodb.Table("AdminViewTable")

    response = table.query(
        IndexName="GSI3", KeyConditionExpression=Key("GSI3_PK").eq("PAYMENT#txn-abc-456")
    )
    items = response["Items"]
    assert [item["data"]["OrderId"] for item in items] == ["2121195"]


@pytest.mark.usefixtures("plain_boto3", "first_day")
def test_query_5_3_finds_all_pending_orders_oldest_first() -> None:
    dynamodb = boto3.resource("dynamodb")
    table = dynamodb.Table("AdminViewTable")

    response = table.query(
        IndexName="GSI1", KeyConditionExpression=Key("GSI1_PK").eq("ORDER#STATUS#PENDING")
    )
    items = response["Items"]
    assert [item["data"]["OrderId"] for item in items] == ["2121195", "2121207", "2121301"]


@pytest.mark.usefixtures("plain_boto3", "first_day")
def test_query_5_4_finds_the_profiles_of_all_who_bought_a_product() -> None:
    dynamodb = boto3.resource("dynamodb")
    table = dynamodb.Table("AdminViewTable")

    response = table.query(
        IndexName="GSI2",
        Select="SPECIFIC_ATTRIBUTES",
        ProjectionExpression="GSI2_SK",
        KeyConditionExpression=Key("GSI2_PK").eq("PRODUCT#product-def-789"),
    )
    user_ids = [item["GSI2_SK"] for item in response["Items"]]

    user_profiles = []
    for user_id in user_ids:
        response = table.query(
            KeyConditionExpression=Key("PK").eq(user_id) & Key("SK").eq("PROFILE")
        )
        if response["Items"]:
            user_profiles.append(response["Items"][0])
    assert [profile["data"]["name"] for profile in user_profiles] == ["Ada", "Grace"]


@pytest.mark.parametrize(
    ("condition", "orders"),
    [
        (Key("customerId").eq("user-123"), ["2121301", "2121195"]),
        (Key("customerId").eq("user-123") & Key("status").eq("PAID"), ["2121195"]),
        (
            Key("customerId").eq("user-123")
            & Key("status").eq("PAID")
            & Key("orderDate").between("2025-03-01", "2025-03-02"),
            ["2121195"],
        ),
        (
            Key("customerId").eq("user-123")
            & Key("status").eq("PAID")
            & Key("orderDate").between("2025-03-02", "2025-03-09"),
            [],
        ),
    ],
)
@pytest.mark.usefixtures("plain_boto3", "second_day")
def test_the_order_dashboard_is_queried_by_customer_then_status_then_date(
    condition: Any, orders: list[str]
) -> None:
    table = boto3.resource("dynamodb").Table("AdminViewTable")
    response = table.query(IndexName="OrderDashboard", KeyConditionExpression=condition)
    assert [item["data"]["OrderId"] for item in response["Items"]] == orders


FIRST, SECOND = "#user-123#2025-03-01#2121195", "#user-456#2025-03-02#2121207"
ANSWERS = {
    "orders-of-user": ["ORDER#2025-03-01#2121195", "ORDER#2025-03-04#2121301"],
    "favourites-of-user": ["FAVOURITE#product-def-789"],
    "products-of-order": [f"PRODUCT#product-abc-123{FIRST}", f"PRODUCT#product-def-789{FIRST}"],
    "orders-by-status": ["ORDER#2025-03-02#2121207"],
    "buyers-of-product": [f"PRODUCT#product-def-789{FIRST}", f"PRODUCT#product-def-789{SECOND}"],
    "orders-by-delivery-date": ["ORDER#2025-03-02#2121207"],
    "order-by-payment": ["ORDER#2025-03-01#2121195"],
    "orders-of-customer": ["ORDER#2025-03-04#2121301", "ORDER#2025-03-01#2121195"],
    "orders-of-customer-by-status": ["ORDER#2025-03-01#2121195"],
    "orders-of-customer-between": ["ORDER#2025-03-01#2121195"],
    "payments-of-order": ["PAYMENT#txn-abc-456"],
    "payments-by-status": ["PAYMENT#txn-def-789"],
    "product-details": ["DETAILS"],
    "featured-products": ["DETAILS"],
    "user-profile": ["PROFILE"],
    "addresses-of-user": ["ADDRESS#home"],
    "orders-per-status": ["CANCELLED", "DELIVERED", "PAID", "PENDING"],
    "daily-sales": ["2025-02-11", "2025-03-01", "2025-03-02"],
    "best-sellers": ["product-abc-123", "product-def-789", "product-ghi-456"],
    "best-customers": ["user-789", "user-123", "user-456"],
    "spending-of-user": ["user-123"],
}


def test_every_access_pattern_is_answered_with_what_it_promises(second_day: LocalCloud) -> None:
    def answer(pattern: AccessPattern) -> list[str]:
        rows = second_day.query(pattern.name, **parameters(pattern))
        assert all(set(pattern.shows) <= row.keys() for row in rows)
        return [row["SK"]["S"] for row in rows]

    assert {pattern.name: answer(pattern) for pattern in registry().patterns} == ANSWERS


def test_totals_follow_the_orders(second_day: LocalCloud) -> None:
    def totals(pattern: str, **parameters: str) -> list[dict[str, Any]]:
        return [to_python(row["data"]) for row in second_day.query(pattern, **parameters)]

    statuses = {total["status"]: total["count"] for total in totals("orders-per-status")}
    assert statuses == {"CANCELLED": 1, "DELIVERED": 1, "PAID": 1, "PENDING": 1}
    (march,) = totals("daily-sales", start="2025-03-02", end="2025-03-31")
    assert (march["day"], march["count"], march["revenue"]) == ("2025-03-02", 1, Decimal("2.99"))
    best, *_ = totals("best-sellers")
    assert (best["productId"], best["units"], best["revenue"]) == (shop.MILK, 4, Decimal("11.96"))
    (ada,) = totals("spending-of-user", user_id=shop.ADA)
    assert (ada["count"], ada["spent"]) == (1, Decimal("5.98"))  # the cancelled order is left out


def test_best_sellers_and_best_customers_come_with_their_names(second_day: LocalCloud) -> None:
    sellers = [*second_day.query_engine.rows("best-sellers")]
    details = [seller.joined["details"] for seller in sellers]
    assert [row and row["data"]["M"]["name"]["S"] for row in details] == ["Milk", "Eggs", "Tea"]
    customers = [*second_day.query_engine.rows("best-customers", limit=2)]
    profiles = [customer.joined["profile"] for customer in customers]
    names = [row and row["data"]["M"]["name"]["S"] for row in profiles]
    assert names == [None, "Ada", "Grace"]  # the account of the first was deleted


def test_a_change_of_status_moves_an_order_between_index_partitions(first_day: LocalCloud) -> None:
    def listed(status: str) -> bool:
        rows = first_day.query("orders-by-status", status=status)
        return any(row["SK"]["S"] == "ORDER#2025-03-01#2121195" for row in rows)

    assert (listed("PENDING"), listed("PAID")) == (True, False)
    apply(first_day, [shop.MOVED])
    assert (listed("PENDING"), listed("PAID")) == (False, True)


def test_an_attribute_that_is_no_longer_an_index_key_leaves_the_index(
    first_day: LocalCloud,
) -> None:
    assert len(first_day.query("featured-products")) == 2
    apply(first_day, [shop.product(shop.TEA, "Tea", "4.20")])
    assert len(first_day.query("featured-products")) == 1


def test_an_order_of_a_customer_with_a_separator_in_the_id_leaves_other_orders_alone(
    first_day: LocalCloud,
) -> None:
    """Glued together, the product, the customer and the number of both orders read the same."""
    (bought, *_) = first_day.query("products-of-order", order_id="2121195")
    product, number = bought["data"]["M"]["Id"]["S"], "2025-03-01#2121195"
    forged = {
        "CustomerId": f"{shop.ADA}#2025-03-01",
        "SK": "2121195",
        "OrderId": "2121195",
        "Status": "PAID",
        "OrderDate": "2025-03-01",
        "Items": [{"Id": product}],
        "CreatedAt": "2025-03-01T09:00:00Z",
    }
    before = actual_rows(first_day)
    assert ("ORDER#2121195", f"PRODUCT#{product}#{shop.ADA}#{number}") in before
    apply(first_day, [Put("Orders", forged)])
    assert len(first_day.query("orders-of-user", user_id=forged["CustomerId"])) == 1
    buyers = first_day.query("buyers-of-product", product_id=product)
    assert len({row["GSI2_SK"]["S"] for row in buyers}) == len(buyers)
    assert len(actual_rows(first_day)) == len(before) + 2
    key = {name: forged[name] for name in ("CustomerId", "SK")}
    apply(first_day, [Delete("Orders", key)])
    assert actual_rows(first_day) == before


def test_numbers_binary_and_sets_reach_the_view_untouched(cloud: LocalCloud) -> None:
    digits = "1234567890123456789012345678901234567.8"
    address = {
        "id": "odd",
        "exact": Decimal(digits),
        "photo": b"\x00\xff",
        "tags": {"a", "b"},
        "sizes": {Decimal(1), Decimal("2.5")},
        "blobs": {b"\x01", b"\x02"},
        "empty": {},
        "none": None,
        "nested": [[{"deep": b"\x03"}]],
    }
    apply(cloud, [shop.user("u", "U", addresses=[address])])
    (row,) = cloud.query("addresses-of-user", user_id="u")
    data = row["data"]["M"]
    assert data["exact"] == {"N": digits}
    assert data["photo"] == {"B": "AP8="}
    assert data["empty"] == {"M": {}}
    assert data["none"] == {"NULL": True}
    assert data["nested"]["L"][0]["L"][0]["M"]["deep"] == {"B": "Aw=="}
    assert {kind: sorted(data[name][kind]) for name, kind in (("tags", "SS"), ("blobs", "BS"))} == {
        "SS": ["a", "b"],
        "BS": ["AQ==", "Ag=="],
    }
    assert sorted(data["sizes"]["NS"]) == ["1", "2.5"]


def test_an_order_whose_date_is_corrected_keeps_its_rows_whatever_comes_first(
    cloud: LocalCloud,
) -> None:
    """A key cannot change, so a corrected order is a new item, and the old one is deleted."""
    old = shop.order(shop.ADA, "2025-03-01", "777", "PENDING", [shop.EGGS])
    new = shop.order(shop.ADA, "2025-03-02", "777", "PENDING", [shop.EGGS])
    gone = Delete("Orders", {"CustomerId": shop.ADA, "SK": "2025-03-01#777"})
    histories: list[list[Put | Delete]] = [[old, new, gone], [gone, old, gone, new]]
    for steps in histories:
        for step in steps:
            apply(cloud, [step])
        assert actual_rows(cloud) == expected_rows(new)
        apply(cloud, steps)
        assert actual_rows(cloud) == expected_rows(new)
    assert cloud.letters() == []


def test_every_row_is_found_by_its_owner(second_day: LocalCloud) -> None:
    rows = second_day.rows()
    assert rows
    for owner in {row["_owner"]["S"] for row in rows}:
        owned = second_day.clients.dynamodb.query(
            TableName="AdminViewTable",
            IndexName="Owner",
            KeyConditionExpression="#owner = :owner",
            ExpressionAttributeNames={"#owner": "_owner"},
            ExpressionAttributeValues={":owner": {"S": owner}},
        )["Items"]
        keys = {(row["PK"]["S"], row["SK"]["S"]) for row in owned}
        assert keys == {
            (row["PK"]["S"], row["SK"]["S"]) for row in rows if row["_owner"]["S"] == owner
        }


def test_a_poison_record_leaves_a_dead_letter_and_its_neighbours_are_written(
    cloud: LocalCloud,
) -> None:
    apply(cloud, [*shop.FIRST_DAY, shop.POISON, shop.favourite(shop.ALAN, shop.TEA)])
    (letter,) = cloud.letters()
    assert letter["owner"] == "Orders/user-456/2025-03-06#2121399"
    assert letter["error"]["kind"] == "MissingAttributeError"
    assert len(cloud.query("favourites-of-user", user_id=shop.ALAN)) == 1
    total = cloud.ledger.total()
    parts = (total.written, total.unchanged, total.no_view, total.dead_lettered, total.redelivered)
    assert total.records == sum(parts) == len(shop.FIRST_DAY) + 2
