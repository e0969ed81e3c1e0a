"""A model with totals: counted, summed up and ranked."""

from collections.abc import Iterator

from adminview import AccessPattern, Item, Join, Row, Source, Total, key, view

orders = Source("Orders", partition_key="id")
statuses = Total("OrdersByStatus", sort="status")
sales = Total("DailySales", partition="shop", sort="day", sums=["revenue"])
products = Total("ProductSales", sort="product", sums=["units", "revenue"], ranked_by="revenue")

orders_per_status = AccessPattern("orders-per-status", total=statuses)
orders_in_status = AccessPattern("orders-in-status", total=statuses, sort="{status}")
daily_sales = AccessPattern(
    "daily-sales", total=sales, partition="{shop}", sort_between=("{start}", "{end}")
)
best_sellers = AccessPattern(
    "best-sellers",
    total=products,
    ranked=True,
    descending=True,
    joins=[Join("details", partition="PRODUCT#{product}", sort="DETAILS")],
)


@view(orders)
def order(item: Item) -> Iterator[Row]:
    yield Row(
        key("ORDER", item["id"]),
        "DETAILS",
        data=item.pick("note"),
        totals=[
            statuses(item["status"]),
            sales(item["shop"], item["day"], revenue=item["total"]),
        ],
    )
    for name, line in sorted(item["lines"].items()):
        yield Row(
            key("ORDER", item["id"]),
            key("PRODUCT", name),
            totals=[products(name, units=line["units"], revenue=line["revenue"])],
        )
