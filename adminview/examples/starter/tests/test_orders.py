"""The rows of an order, and the queries that find them."""

from adminview.testing import local_view, rows_of
from lambdas.views.orders import orders

ORDER = {
    "orderId": "o-1",
    "customerId": "c-1",
    "status": "PENDING",
    "total": 42,
    "createdAt": "2026-01-31T12:00:00Z",
}


def test_an_open_order_is_listed_under_its_customer_and_by_status() -> None:
    (row,) = rows_of(orders, ORDER)
    assert (row["PK"], row["SK"]) == ("CUSTOMER#c-1", "ORDER#o-1")
    assert row["GSI1_PK"] == "STATUS#PENDING"
    assert row["data"]["total"] == 42


def test_a_shipped_order_leaves_the_index() -> None:
    """The real sync, between tables on the embedded engine."""
    with local_view() as view:
        view.put(orders, ORDER)
        assert len(view.query("open-orders", status="PENDING")) == 1
        view.put(orders, ORDER | {"status": "SHIPPED"})
        assert view.query("open-orders", status="PENDING") == []
        assert len(view.query("orders-of-customer", customer_id="c-1")) == 1
