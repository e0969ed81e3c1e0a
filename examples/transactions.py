"""Transactions of a customer by type, for a small shop.

A local index needs no capacity of its own. With one, all rows of a PK and their copies in the index
may have 10 GB together: enough for a customer's transactions. The sort key is the type followed by
the number, because rows with equal sort keys come in no defined order.
"""

from collections.abc import Iterator

from adminview import AccessPattern, Item, LocalIndex, Row, Source, key, view

transactions = Source("Transactions", partition_key="CustomerId", sort_key="TransactionId")

by_type = LocalIndex("TransactionsByType", sort="TypeAndNumber", include=["data"])

transactions_of_customer = AccessPattern(
    "transactions-of-customer",
    partition="CUSTOMER#{customer_id}",
    sort_begins="TRANSACTION#",
    about="Every transaction of one customer, by number",
)
transactions_by_type = AccessPattern(
    "transactions-by-type",
    index=by_type,
    partition="CUSTOMER#{customer_id}",
    about="Every transaction of one customer, type by type",
)
transactions_of_type = AccessPattern(
    "transactions-of-type",
    index=by_type,
    partition="CUSTOMER#{customer_id}",
    sort_begins="{type}#",
    about="The transactions of one customer and type, by number",
)


@view(transactions)
def transaction(item: Item) -> Iterator[Row]:
    """List a transaction under its customer."""
    yield Row(
        key("CUSTOMER", item["CustomerId"]),
        key("TRANSACTION", item["TransactionId"]),
        data=item.pick("TransactionId", "TransactionType", "Amount"),
        indexes=[by_type(key(item["TransactionType"], item["TransactionId"]))],
    )
