"""Sales by category and date, across all customers.

An order with products of several categories is listed once in each.
"""

from collections.abc import Iterator
from decimal import Decimal

from adminview import AccessPattern, Index, Item, Row, Source, key, view

orders = Source("Orders", partition_key="orderId")

by_category = Index("CategoryDate", partition="Category", sort="OrderDate", include=["data"])

orders_of_category = AccessPattern(
    "orders-of-category",
    index=by_category,
    partition="{category}",
    about="Every order with something of one category, by date",
)
orders_of_category_between = AccessPattern(
    "orders-of-category-between",
    index=by_category,
    partition="{category}",
    sort_between=("{start}", "{end}"),
    about="The orders with something of one category between two dates",
)
orders_of_category_in = AccessPattern(
    "orders-of-category-in",
    index=by_category,
    partition="{category}",
    sort_begins="{month}",
    about="The orders with something of one category in a month or a year",
)


@view(orders)
def order(item: Item) -> Iterator[Row]:
    """List an order in each of its categories, with what was spent there."""
    spent: dict[str, Decimal] = {}
    for line in item["lines"]:
        spent[line["category"]] = spent.get(line["category"], Decimal()) + line["price"]
    for category, total in spent.items():
        yield Row(
            key("ORDER", item["orderId"]),
            key("CATEGORY", category),
            data=item.pick("orderId", "customerId", "orderDate") | {"spent": total},
            indexes=[by_category(category, item["orderDate"])],
        )
