"""Payments: listed under their order, and by status while they need attention."""

from collections.abc import Iterator

from adminview import AccessPattern, Item, Row, Source, key, view
from lambdas.views.orders import by_status

payments = Source("Payments", partition_key="transactionId")

payments_of_order = AccessPattern(
    "payments-of-order",
    partition="ORDER#{order_id}",
    sort_begins="PAYMENT#",
    about="Every payment made for one order",
)
payments_by_status = AccessPattern(
    "payments-by-status",
    index=by_status,
    partition="PAYMENT#STATUS#{status}",
    about="Payments that failed or are disputed, oldest first",
)

TROUBLED = {"FAILED", "DISPUTED"}


@view(payments)
def payment(item: Item) -> Iterator[Row]:
    """Show a payment under its order; index it by status while it needs attention."""
    status = item["status"]
    yield Row(
        key("ORDER", item["orderId"]),
        key("PAYMENT", item["transactionId"]),
        data=item.pick("transactionId", "orderId", "amount", "currency", "status", "createdAt"),
        indexes=[by_status(key("PAYMENT", "STATUS", status), key("CREATED_AT", item["createdAt"]))]
        if status in TROUBLED
        else [],
    )
