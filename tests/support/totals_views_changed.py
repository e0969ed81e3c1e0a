"""The model of `totals_views` as it is changed later: a new epoch, another sum, a total less."""

from collections.abc import Iterator

from adminview import AccessPattern, Item, Row, Source, Total, key, view

orders = Source("Orders", partition_key="id")
statuses = Total("OrdersByStatus", sort="status", epoch=2, epoch_was=1)
sales = Total("DailySales", partition="shop", sort="day", sums=["orders"], ranked_by="orders")

orders_per_status = AccessPattern("orders-per-status", total=statuses)
best_days = AccessPattern("best-days", total=sales, partition="{shop}", ranked=True)


@view(orders)
def order(item: Item) -> Iterator[Row]:
    yield Row(
        key("ORDER", item["id"]),
        "DETAILS",
        data=item.pick("note"),
        totals=[
            statuses(item["status"]),
            sales(item["shop"], item["day"], orders=1),
        ],
    )
    for name in sorted(item["lines"]):
        yield Row(key("ORDER", item["id"]), key("PRODUCT", name))
