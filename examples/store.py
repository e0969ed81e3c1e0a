"""A store whose one table holds users, addresses, orders, their lines, and products.

An attribute distinguishes the kinds. The rows have the keys of their items; the indexes serve the
access patterns that these keys cannot.
"""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, Source, key, view

table = Source("MyTable", partition_key="PK", sort_key="SK")

# The keys of the items escape nothing, so the templates below are raw.

# Overloaded: an order with its lines in one partition, the featured products in another.
collections = Index("GSI1", partition="GSI1PK", sort="GSI1SK", include=["data"])
by_status = Index("GSI2", partition="GSI2PK", sort="GSI2SK", include=["data"])

user_profile = AccessPattern(
    "user-profile",
    partition="USER#{user_id:raw}",
    sort="PROFILE",
    about="The profile of one user",
)
addresses_of_user = AccessPattern(
    "addresses-of-user",
    partition="USER#{user_id:raw}",
    sort_begins="ADDRESS#",
    about="Every address of one user",
)
orders_of_user = AccessPattern(
    "orders-of-user",
    partition="USER#{user_id:raw}",
    sort_begins="ORDER#",
    descending=True,
    about="Every order of one user, newest first",
)
everything_of_user = AccessPattern(
    "everything-of-user",
    partition="USER#{user_id:raw}",
    about="Everything of one user",
)
order_by_id = AccessPattern(
    "order-by-id",
    index=collections,
    partition="ORDER#{order_id:raw}",
    sort="ORDER",
    about="One order, whoever made it",
)
order_with_items = AccessPattern(
    "order-with-items",
    index=collections,
    partition="ORDER#{order_id:raw}",
    about="One order together with its lines",
)
product_details = AccessPattern(
    "product-details",
    partition="PROD#{product_id:raw}",
    sort="PRODUCT",
    about="One product",
)
featured_products = AccessPattern(
    "featured-products",
    index=collections,
    partition="FEATURED",
    about="Every product that is featured now",
)
orders_by_status = AccessPattern(
    "orders-by-status",
    index=by_status,
    partition="STATUS#{status}",
    about="The orders of one status, of all users",
)


@view(table, where={"EntityType": "User"})
def user(item: Item) -> Iterator[Row]:
    """Show a user's profile."""
    yield Row(item["PK"], item["SK"], data=item.pick("userId", "name", "email"))


@view(table, where={"EntityType": "Address"})
def address(item: Item) -> Iterator[Row]:
    """Show an address under its user."""
    yield Row(item["PK"], item["SK"], data=item.pick("street", "city"))


@view(table, where={"EntityType": "Order"})
def order(item: Item) -> Iterator[Row]:
    """List an order under its user, under its own number and by status."""
    yield Row(
        item["PK"],
        item["SK"],
        data=item.pick("orderId", "total", "status"),
        indexes=[
            collections(key("ORDER", raw=item["orderId"]), "ORDER"),
            by_status(key("STATUS", item["status"]), item["SK"]),
        ],
    )


@view(table, where={"EntityType": "OrderItem"})
def line(item: Item) -> Iterator[Row]:
    """List what was ordered under the order's number."""
    yield Row(
        item["PK"],
        item["SK"],
        data=item.pick("productId", "quantity"),
        indexes=[collections(item["PK"], item["SK"])],
    )


@view(table, where={"EntityType": "Product"})
def product(item: Item) -> Iterator[Row]:
    """Show a product; index it while it is featured."""
    yield Row(
        item["PK"],
        item["SK"],
        data=item.pick("name", "price"),
        indexes=[collections("FEATURED", item["PK"])] if item.get("featured") else [],
    )
