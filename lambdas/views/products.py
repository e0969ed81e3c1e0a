"""Products, and the few of them that are featured."""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, Source, key, view

products = Source("Products", partition_key="productId")

# Sparse: products that are not featured cost this index nothing.
featured = Index("Featured", partition="FEATURED_PK", sort="FEATURED_SK", include=["data"])

product_details = AccessPattern(
    "product-details",
    partition="PRODUCT#{product_id}",
    sort="DETAILS",
    about="One product",
)
featured_products = AccessPattern(
    "featured-products",
    index=featured,
    partition="PRODUCT#FEATURED",
    about="Every product that is featured now",
)


@view(products)
def product(item: Item) -> Iterator[Row]:
    """Show a product; index it while it is featured."""
    product_key = key("PRODUCT", item["productId"])
    yield Row(
        product_key,
        "DETAILS",
        data=item.pick("productId", "name", "category", "price", "stock"),
        indexes=[featured("PRODUCT#FEATURED", product_key)] if item.get("featured") else [],
    )
