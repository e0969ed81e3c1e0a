"""The rows of an order, and the queries that find them."""

from adminview.testing import local_view, rows_of
from lambdas.views.orders import orders

ORDER = {
    "CustomerId": "user-123",
    "SK": "2026-01-31#2121195",
    "OrderId": "2121195",
    "OrderDate": "2026-01-31",
    "CreatedAt": "2026-01-31T12:00:00Z",
    "Status": "PENDING",
    "Total": 42,
    "Items": [{"Id": "product-1", "Name": "Tea", "Price": 42}],
}


def test_an_order_is_listed_under_its_user_with_what_was_bought() -> None:
    order, product = rows_of(orders, ORDER)
    assert (order["PK"], order["SK"]) == ("USER#user-123", "ORDER#2026-01-31#2121195")
    assert product["PK"] == "ORDER#2121195"


def test_a_delivered_order_leaves_the_list_of_open_ones() -> None:
    """The real sync, between tables on the embedded engine."""
    with local_view() as view:
        view.put(orders, ORDER)
        assert len(view.query("orders-by-status", status="PENDING")) == 1
        view.put(orders, ORDER | {"Status": "DELIVERED"})
        assert view.query("orders-by-status", status="PENDING") == []
        assert len(view.query("orders-of-user", user_id="user-123")) == 1
