"""A customer's orders on a dashboard, by status and then by date.

One index serves three access patterns; each fixes one attribute more than the one before.
"""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, Source, key, view

orders = Source("Orders", partition_key="orderId", sort_key="customerId")

by_customer = Index("GSI1", partition="customerId", sort=["status", "orderDate"], include=["data"])

orders_of_customer = AccessPattern(
    "orders-of-customer",
    index=by_customer,
    partition="{customer_id}",
    about="Every order of a customer, by status and date",
)
orders_of_customer_by_status = AccessPattern(
    "orders-of-customer-by-status",
    index=by_customer,
    partition="{customer_id}",
    sort="{status}",
    about="A customer's orders of one status, by date",
)
orders_of_customer_between = AccessPattern(
    "orders-of-customer-between",
    index=by_customer,
    partition="{customer_id}",
    sort="{status}",
    sort_between=("{start}", "{end}"),
    about="A customer's orders of one status between two dates",
)


@view(orders)
def order(item: Item) -> Iterator[Row]:
    """Put an order on its customer's dashboard."""
    yield Row(
        key("ORDER", item["orderId"]),
        key("CUSTOMER", item["customerId"]),
        data=item.pick("orderId", "status", "orderDate", "total"),
        indexes=[by_customer(item["customerId"], item["status"], item["orderDate"])],
    )
