"""Orders and favourites in one table, products, and payments in an index that orders share."""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Join, Row, Source, key, view

orders = Source("Orders", partition_key="CustomerId", sort_key="SK")
payments = Source("Payments", partition_key="transactionId")
products = Source("Products", partition_key="productId")

by_status = Index("GSI1", partition="GSI1_PK", sort="GSI1_SK", include=["data"])
by_product = Index("GSI2", partition="GSI2_PK", sort="GSI2_SK", include=["data"])
by_payment = Index("GSI3", partition="GSI3_PK", include=["data"])
by_day = Index("ByDay", partition="DeliveryDate", include=["data"])
dashboard = Index(
    "OrderDashboard", partition="customerId", sort=["status", "orderDate"], include=["data"]
)

orders_of_user = AccessPattern(
    "orders-of-user", partition="USER#{user_id}", sort_begins="ORDER#", about="Orders of one user"
)
favourites_of_user = AccessPattern(
    "favourites-of-user", partition="USER#{user_id}", sort_begins="FAVOURITE#", about="Favourites"
)
products_of_order = AccessPattern(
    "products-of-order", partition="ORDER#{order_id}", sort_begins="PRODUCT#", about="Its products"
)
payments_of_order = AccessPattern(
    "payments-of-order", partition="ORDER#{order_id}", sort_begins="PAYMENT#", about="Its payments"
)
product_details = AccessPattern(
    "product-details", partition="PRODUCT#{product_id}", sort="DETAILS", about="One product"
)
orders_by_status = AccessPattern(
    "orders-by-status", index=by_status, partition="ORDER#STATUS#{status}", about="Open orders"
)
payments_by_status = AccessPattern(
    "payments-by-status", index=by_status, partition="PAYMENT#STATUS#{status}", about="Failures"
)
buyers_of_product = AccessPattern(
    "buyers-of-product",
    index=by_product,
    partition="PRODUCT#{product_id}",
    joins=[Join("profile", partition="{GSI2_SK}", sort="PROFILE")],
    about="Who bought a product",
)
order_by_payment = AccessPattern(
    "order-by-payment", index=by_payment, partition="PAYMENT#{transaction_id}", about="The order"
)
orders_by_day = AccessPattern(
    "orders-by-day", index=by_day, partition="{delivery_date}", about="Orders to deliver"
)
orders_of_customer = AccessPattern(
    "orders-of-customer", index=dashboard, partition="{customer_id}", about="Orders"
)
orders_of_customer_by_status = AccessPattern(
    "orders-of-customer-by-status",
    index=dashboard,
    partition="{customer_id}",
    sort="{status}",
    about="Orders of one status",
)
orders_of_customer_between = AccessPattern(
    "orders-of-customer-between",
    index=dashboard,
    partition="{customer_id}",
    sort="{status}",
    sort_between=("{start}", "{end}"),
    about="Orders of one status between two dates",
)


def is_order(item: Item) -> bool:
    """Return whether an item is an order: its sort key begins with a date."""
    return bool(item["SK"][:1].isdigit())


@view(orders, when=is_order)
def order(item: Item) -> Iterator[Row]:
    """List an order under its user, by status while it is open, and under each product."""
    user, status = key("USER", item["CustomerId"]), item["Status"]
    indexes = [dashboard(item["CustomerId"], status, item["OrderDate"])]
    if status in {"PENDING", "PAID", "PACKED"}:
        indexes.append(
            by_status(key("ORDER", "STATUS", status), key("CREATED_AT", item["CreatedAt"]))
        )
    if "TransactionId" in item:
        indexes.append(by_payment(key("PAYMENT", item["TransactionId"])))
    if "DeliveryDate" in item:
        indexes.append(by_day(item["DeliveryDate"]))
    data = item.pick(
        "OrderId", "Status", "OrderDate", "CreatedAt", "DeliveryDate", "Total", "Items"
    )
    yield Row(user, key("ORDER", raw=item["SK"]), data=data, indexes=indexes)
    for line in {line["Id"]: line for line in item["Items"]}.values():
        yield Row(
            key("ORDER", item["OrderId"]),
            key("PRODUCT", line["Id"], item["CustomerId"], raw=item["SK"]),
            data=item.pick("OrderId", "OrderDate") | line.pick("Id", "Name", "Price"),
            indexes=[by_product(key("PRODUCT", line["Id"]), user)],
        )


@view(orders, sort_begins="FAVOURITE#")
def favourite(item: Item) -> Iterator[Row]:
    """List a favourite under its user."""
    yield Row(key("USER", item["CustomerId"]), item["SK"], data=item.pick("ItemId", "ItemName"))


@view(products)
def product(item: Item) -> Iterator[Row]:
    """Show a product."""
    data = item.pick("productId", "name", "category", "price", "stock")
    yield Row(key("PRODUCT", item["productId"]), "DETAILS", data=data)


@view(payments)
def payment(item: Item) -> Iterator[Row]:
    """Show a payment under its order, and by status if it failed."""
    row = key("ORDER", item["orderId"]), key("PAYMENT", item["transactionId"])
    failed = by_status(key("PAYMENT", "STATUS", "FAILED"), key("CREATED_AT", item["createdAt"]))
    yield Row(
        *row,
        data=item.pick("transactionId", "orderId", "amount", "currency", "status", "createdAt"),
        indexes=[failed] if item["status"] == "FAILED" else [],
    )
