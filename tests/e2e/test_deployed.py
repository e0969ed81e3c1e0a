"""The deployed app syncs items that are put, changed and deleted, and its API answers queries."""

from typing import Any

from tests.support.e2e.api_client import BAD_REQUEST, FORBIDDEN, OK, UNKNOWN, Api
from tests.support.e2e.cloud import Checkout
from tests.support.e2e.inventory import inventory
from tests.support.model import PAYMENT, PRODUCT, USER, order
from tests.support.shop import registry

USER_KEY, ORDER_KEY = "USER#user-123", "ORDER#2025-03-01#2121195"
OWN = {"API", "alarm", "dashboard", "function", "log group", "mapping", "queue", "role", "rule"}
OWN |= {"state machine", "table", "topic"}
PAID = {"TransactionId": "txn-abc-456"}
# A query of the table and of each index, and a text in its response.
QUERIES = {
    "user-profile?user_id=user-123": "ada@shop.example",
    "orders-of-user?user_id=user-123": "2121195",
    "payments-by-status?status=FAILED": "txn-abc-456",
    "orders-by-status?status=PENDING": "2121195",
    "buyers-of-product?product_id=product-def-789": "ada@shop.example",  # by a join
    "order-by-payment?transaction_id=txn-abc-456": "2121195",
    "orders-of-customer-by-status?customer_id=user-123&status=PENDING": "2121195",
    "featured-products": "Eggs",
}


def test_every_kind_of_thing_is_deployed_and_every_index_is_there(checkout: Checkout) -> None:
    assert inventory(checkout).keys() >= OWN
    assert checkout.indexes() >= {index.name for index in registry().indexes}


def test_rows_appear_when_items_are_put(checkout: Checkout) -> None:
    for table, item in {"Users": USER, "Products": PRODUCT, "Payments": PAYMENT}.items():
        checkout.put(table, item)
    checkout.put("Orders", order(**PAID))
    for partition, sort in [
        (USER_KEY, "PROFILE"),
        (USER_KEY, "ADDRESS#home"),
        (USER_KEY, ORDER_KEY),
        ("PRODUCT#product-def-789", "DETAILS"),
        ("ORDER#2121195", "PAYMENT#txn-abc-456"),
    ]:
        checkout.await_row({"PK": {"S": partition}, "SK": {"S": sort}})


def test_rows_move_when_an_item_changes_and_vanish_with_it(checkout: Checkout) -> None:
    api, number = Api(checkout), {"SK": "2025-03-02#2121207", "OrderId": "2121207"}
    bought = f"#user-123#{number['SK']}"
    first, second = (
        ("ORDER#2121207", f"PRODUCT#{product}{bought}") for product in ("milk", "eggs")
    )

    checkout.put("Orders", order(**number, Items=[{"Id": "milk", "Name": "Milk", "Price": 1}]))
    checkout.deadline(lambda: checkout.row(*first), "what was bought has a row")
    assert "2121207" in str(api.get("/patterns/orders-by-status?status=PENDING").body)

    changed = order(**number, Status="PAID", Items=[{"Id": "eggs", "Name": "Eggs", "Price": 3}])
    checkout.put("Orders", changed)
    checkout.deadline(lambda: checkout.row(*second), "what is bought now has a row")
    checkout.deadline(lambda: not checkout.row(*first), "what is no longer bought has none")
    assert "2121207" not in str(api.get("/patterns/orders-by-status?status=PENDING").body)
    assert "2121207" in str(api.get("/patterns/orders-by-status?status=PAID").body)

    checkout.delete("Orders", CustomerId="user-123", SK=number["SK"])
    checkout.deadline(lambda: not checkout.row(*second), "nothing of it was bought")
    checkout.deadline(lambda: not checkout.row(USER_KEY, f"ORDER#{number['SK']}"), "it is gone")


def test_the_table_and_every_index_are_queried_over_http(checkout: Checkout) -> None:
    api = Api(checkout)
    queried = {registry().pattern(query.partition("?")[0]).index for query in QUERIES}
    rows = [pattern for pattern in registry().patterns if not pattern.total]
    not_queried = {pattern.index for pattern in rows} - queried
    # No order has a date before it is migrated.
    assert [index.name for index in not_queried if index] == ["DeliveryDate-Index"]
    for query, shown in QUERIES.items():
        answer = api.get(f"/patterns/{query}")
        assert (answer.status, shown in str(answer.body)) == (OK, True), answer
    for query in ("orders-per-status", "best-sellers"):
        # Empty, because no window delivers the view's stream here: see test_totals.py.
        answer = api.get(f"/patterns/{query}")
        assert (answer.status, answer.body["rows"]) == (OK, []), answer
    assert len(api.get("/patterns").body["patterns"]) == len(registry().patterns)
    assert api.get("/openapi.json").body["openapi"]
    # The cloud has no metrics of mappings, and rings no alarm: the function may list them.
    assert api.get("/health").body["status"] == "healthy"


def test_what_is_unknown_or_wrong_or_not_signed_is_refused(checkout: Checkout) -> None:
    api = Api(checkout)

    def problem(path: str) -> tuple[int, str, Any]:
        answer = api.get(path)
        return answer.status, answer.headers["Content-Type"], answer.body["detail"]

    status, kind, detail = problem("/patterns/none")
    assert (status, kind) == (UNKNOWN, "application/problem+json")
    assert "no access pattern is named 'none'" in detail
    status, kind, detail = problem("/patterns/user-profile")
    assert (status, kind) == (BAD_REQUEST, "application/problem+json")
    assert "user_id is missing" in detail
    assert api.get("/patterns", signed=False).status == FORBIDDEN
