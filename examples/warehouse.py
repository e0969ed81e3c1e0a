"""Stock of warehouses by when it last changed, read consistently.

Goods are in the list as soon as they are booked in: only a local index guarantees that.
"""

from collections.abc import Iterator

from adminview import AccessPattern, Item, LocalIndex, Row, Source, key, view

stock = Source("Stock", partition_key="WarehouseId", sort_key="ProductId")

by_change = LocalIndex("StockByChange", sort="LastUpdated", include=["data"])

stock_of_product = AccessPattern(
    "stock-of-product",
    partition="WAREHOUSE#{warehouse_id}",
    sort="STOCK#{product_id}",
    consistent=True,
    about="What one warehouse has of one product",
)
stock_of_warehouse = AccessPattern(
    "stock-of-warehouse",
    index=by_change,
    partition="WAREHOUSE#{warehouse_id}",
    sort_from="{since}",
    optional=["since"],
    descending=True,
    consistent=True,
    about="The stock of one warehouse, last changed first; all of it, or what changed since",
)


@view(stock)
def level(item: Item) -> Iterator[Row]:
    """List a product's stock under its warehouse."""
    yield Row(
        key("WAREHOUSE", item["WarehouseId"]),
        key("STOCK", item["ProductId"]),
        data=item.pick("ProductId", "Quantity", "LastUpdated"),
        indexes=[by_change(item["LastUpdated"])],
    )
