"""Orders of a user by date, whatever the order of their numbers.

A local index sorts the rows of a partition in another way. It is created with the table, cannot be
added later, and can be read consistently: an order is in its user's history at once.
"""

from collections.abc import Iterator

from adminview import AccessPattern, Item, LocalIndex, Row, Source, key, view

orders = Source("UserAccounts", partition_key="UserId", sort_key="OrderId")

by_date = LocalIndex("LSI1", sort="LSI_SK", include=["data"])

order_of_user = AccessPattern(
    "order-of-user",
    partition="USER#{user_id}",
    sort="ORDER#{order_id}",
    about="One order of a user",
)
history_of_user = AccessPattern(
    "history-of-user",
    index=by_date,
    partition="USER#{user_id}",
    descending=True,
    consistent=True,
    about="The orders of one user, newest first",
)
history_of_user_between = AccessPattern(
    "history-of-user-between",
    index=by_date,
    partition="USER#{user_id}",
    sort_between=("{start}", "{end}"),
    about="The orders of one user between two dates, oldest first",
)


@view(orders)
def order(item: Item) -> Iterator[Row]:
    """List an order under its user, by number and by date."""
    yield Row(
        key("USER", item["UserId"]),
        key("ORDER", item["OrderId"]),
        data=item.pick("OrderId", "OrderDate", "Total"),
        indexes=[by_date(item["OrderDate"])],
    )
