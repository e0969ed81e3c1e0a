"""Orders of an online shop, by status and then by date, which is a number.

A time in milliseconds is compared as a number, so it needs no padding with zeros.
"""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, Source, key, number, view

orders = Source("Orders", partition_key="orderId")

by_customer = Index(
    "CustomerStatusDate",
    partition="customerId",
    sort=["status", number("orderDate")],
    include=["data"],
)

order_details = AccessPattern(
    "order-details",
    partition="ORDER#{order_id}",
    sort="DETAILS",
    about="One order",
)
orders_by_status = AccessPattern(
    "orders-of-customer-by-status",
    index=by_customer,
    partition="{customer_id}",
    sort="{status}",
    about="A customer's orders of one status, oldest first",
)
latest_orders_by_status = AccessPattern(
    "latest-orders-of-customer-by-status",
    index=by_customer,
    partition="{customer_id}",
    sort="{status}",
    descending=True,
    about="A customer's orders of one status, newest first",
)
orders_between = AccessPattern(
    "orders-of-customer-between",
    index=by_customer,
    partition="{customer_id}",
    sort="{status}",
    sort_between=("{start}", "{end}"),
    about="A customer's orders of one status between two times",
)
orders_since = AccessPattern(
    "orders-of-customer-since",
    index=by_customer,
    partition="{customer_id}",
    sort="{status}",
    sort_from="{since}",
    about="A customer's orders of one status from some time on",
)


@view(orders)
def order(item: Item) -> Iterator[Row]:
    """Show an order, and list it under its customer."""
    yield Row(
        key("ORDER", item["orderId"]),
        "DETAILS",
        data=item.pick("orderId", "customerId", "status", "orderDate", "total"),
        indexes=[by_customer(item["customerId"], item["status"], item["orderDate"])],
    )
