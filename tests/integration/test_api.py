"""The API returns the same rows as the library for the shop's access patterns."""

from typing import Any
from urllib.parse import quote, urlencode

import pytest

from adminview.examples.shop.sample_data import ADA, FIRST_DAY, PARAMETERS, SPECIAL, order
from adminview.local.local_cloud import LocalCloud
from adminview.local.source_writes import Put
from adminview.model.errors import QueryError
from adminview.model.row import key_of
from tests.support.api_client import Client
from tests.support.model import registry


@pytest.fixture
def shop(cloud: LocalCloud) -> LocalCloud:
    """Open the shop for a day."""
    for step in FIRST_DAY:
        assert isinstance(step, Put)
        cloud.put(step.source, step.item)
    cloud.settle()
    return cloud


def parameters(pattern: str) -> dict[str, str]:
    known = PARAMETERS | SPECIAL.get(pattern, {})
    return {name: known[name] for name in registry().pattern(pattern).parameters}


def keys(page: Any) -> list[tuple[str, str]]:
    return [(row["key"]["PK"], row["key"]["SK"]) for row in page["rows"]]


def test_every_access_pattern_returns_the_same_rows_as_the_library(shop: LocalCloud) -> None:
    client, compared = Client(shop.query_engine), 0
    for pattern in registry().patterns:
        arguments = parameters(pattern.name)
        for order_ in ("asc", "desc"):
            expected = list(shop.query_engine.rows(pattern.name, order=order_, **arguments))
            query = urlencode({**arguments, "order": order_})
            page = client.get(f"/patterns/{pattern.name}?{query}")
            assert keys(page) == [key_of(hit.row) for hit in expected]
            assert page["cursor"] is None
            compared += len(expected)
        counted = client.get(f"/patterns/{pattern.name}/count?{urlencode(arguments)}")
        assert counted["count"] == len(expected)
    assert compared > 20


def test_rows_are_shown_in_plain_json_with_the_rows_beside_them(shop: LocalCloud) -> None:
    (eggs, _) = Client(shop.query_engine).get(
        "/patterns/buyers-of-product?product_id=product-def-789"
    )["rows"]
    assert eggs["data"]["Price"] == 2.99
    assert eggs["index"] == {"GSI2_PK": "PRODUCT#product-def-789", "GSI2_SK": f"USER#{ADA}"}
    assert eggs["joined"]["profile"]["data"]["name"] == "Ada"


@pytest.mark.parametrize("limit", [1, 3, 50])
def test_paging_gives_every_row_once(shop: LocalCloud, limit: int) -> None:
    for day in range(10, 20):
        step = order(ADA, f"2025-03-{day}", f"22{day}", "PENDING", [])
        shop.put(step.source, step.item)
    shop.settle()
    client, listed, cursor = Client(shop.query_engine), [], ""
    while True:
        page = client.get(f"/patterns/orders-by-status?status=PENDING&limit={limit}{cursor}")
        listed += keys(page)
        if page["cursor"] is None:
            break
        cursor = f"&cursor={quote(page['cursor'])}"
    expected = shop.query("orders-by-status", status="PENDING")
    assert listed == [key_of(row) for row in expected]
    assert len(listed) == 13


def test_a_row_is_found_by_its_key_with_its_provenance(shop: LocalCloud) -> None:
    client = Client(shop.query_engine)
    row = client.get("/rows/USER%23user-123/ORDER%232025-03-01%232121195")
    assert row["data"]["Total"] == 5.98
    assert row["provenance"]["owner"] == "Orders/user-123/2025-03-01#2121195"
    assert row["provenance"]["model"] == registry().fingerprint
    assert row["provenance"]["sequence"].isdigit()
    assert client.send("/rows/USER%23user-123/ORDER").status == 404


def test_a_key_with_a_slash_is_found_in_a_path_and_in_a_query(shop: LocalCloud) -> None:
    step = order("north/7", "2025-03-09", "2129999", "PENDING", [])
    shop.put(step.source, step.item)
    shop.settle()
    client = Client(shop.query_engine)
    in_path = client.get("/rows/USER%23north%2F7/ORDER%232025-03-09%232129999")
    in_query = client.get("/rows?PK=USER%23north%2F7&SK=ORDER%232025-03-09%232129999")
    assert in_path == in_query
    assert in_path["key"]["PK"] == "USER#north/7"


@pytest.mark.parametrize("arguments", [{}, {"status": "X", "colour": "red"}])
def test_problems_have_the_same_text_as_the_librarys_errors(
    shop: LocalCloud, arguments: dict[str, Any]
) -> None:
    with pytest.raises(QueryError) as caught:
        shop.query_engine.page("orders-by-status", **arguments)
    refused = Client(shop.query_engine).send(f"/patterns/orders-by-status?{urlencode(arguments)}")
    assert (refused.status, refused.detail) == (400, str(caught.value))


@pytest.mark.parametrize(
    ("target", "why"),
    [
        (f"orders-by-status?status={'a' * 2048}", "status makes 'GSI1_PK' 2061 bytes long"),
        (
            "orders-of-customer-between?customer_id=a&status=b&start=2&end=1",
            "start comes after end",
        ),
        (
            f"orders-of-customer-by-status?customer_id=a&status={'a' * 1025}",
            "status makes 'status' 1025 bytes long",
        ),
    ],
)
def test_what_an_engine_would_refuse_is_refused_before_in_words(
    shop: LocalCloud, target: str, why: str
) -> None:
    answered = Client(shop.query_engine).send(f"/patterns/{target}")
    assert answered.status == 400
    assert why in answered.detail
