"""Orders, as support staff look them up. Replace this file by your own."""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, Source, key, view

# A source table. `cdk deploy` creates it with a stream, unless cdk.json names an existing one.
orders = Source("Orders", partition_key="orderId")

# A sparse index of AdminViewTable: it contains only the rows that set its keys.
by_status = Index("ByStatus", partition="GSI1_PK", sort="GSI1_SK", include=["data"])

# The queries of the admin panel. Each is a command, an HTTP route and an entry in the docs:
#   adminview query open-orders --status PENDING
orders_of_customer = AccessPattern(
    "orders-of-customer",
    partition="CUSTOMER#{customer_id}",
    sort_begins="ORDER#",
    about="All orders of one customer",
)
open_orders = AccessPattern(
    "open-orders",
    index=by_status,
    partition="STATUS#{status}",
    about="Orders in one status, oldest first",
)

OPEN = {"PENDING", "PAID"}


@view(orders)
def order(item: Item) -> Iterator[Row]:
    """List an order under its customer; index it by status while it is open."""
    # A view is a pure function of one item. AdminView compares the rows before and after a
    # change, and writes what differs: there is no INSERT, MODIFY or REMOVE to handle.
    status = item["status"]
    yield Row(
        key("CUSTOMER", item["customerId"]),  # `key` escapes `#` within its parts
        key("ORDER", item["orderId"]),
        data=item.pick("orderId", "status", "total", "createdAt"),
        indexes=[by_status(key("STATUS", status), item["createdAt"])] if status in OPEN else [],
    )
