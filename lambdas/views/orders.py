"""Orders and favourites: one source table that holds two kinds of item.

An order's sort key is its date and number (``2025-03-01#2121195``), a favourite's is
``FAVOURITE#`` and the product.

A cancelled order is counted in its status, and in no other total: nothing was sold. A line without
a quantity is one unit; an order without a total, or a line without a price, adds nothing to a sum.
"""

from collections.abc import Iterator

from adminview import (
    AccessPattern,
    Contribution,
    Index,
    Item,
    Join,
    Row,
    Source,
    Total,
    key,
    view,
)

orders = Source("Orders", partition_key="CustomerId", sort_key="SK")

by_status = Index("GSI1", partition="GSI1_PK", sort="GSI1_SK", include=["data"])
by_product = Index("GSI2", partition="GSI2_PK", sort="GSI2_SK", include=["data"])
by_payment = Index("GSI3", partition="GSI3_PK", include=["data"])
dashboard = Index(
    "OrderDashboard", partition="customerId", sort=["status", "orderDate"], include=["data"]
)
by_delivery_date = Index("DeliveryDate-Index", partition="DeliveryDate", include=["data"])

statuses = Total("OrdersPerStatus", sort="status")
sales = Total("DailySales", sort="day", sums=["revenue"])
sellers = Total("ProductSales", sort="productId", sums=["units", "revenue"], ranked_by="revenue")
spending = Total("CustomerSpending", sort="userId", sums=["spent"], ranked_by="spent")

orders_of_user = AccessPattern(
    "orders-of-user",
    partition="USER#{user_id}",
    sort_begins="ORDER#",
    about="Every order of one user, by date",
)
favourites_of_user = AccessPattern(
    "favourites-of-user",
    partition="USER#{user_id}",
    sort_begins="FAVOURITE#",
    about="Every favourite of one user",
)
products_of_order = AccessPattern(
    "products-of-order",
    partition="ORDER#{order_id}",
    sort_begins="PRODUCT#",
    about="What was bought with one order",
)
orders_by_status = AccessPattern(
    "orders-by-status",
    index=by_status,
    partition="ORDER#STATUS#{status}",
    about="Open orders of one status, oldest first",
)
buyers_of_product = AccessPattern(
    "buyers-of-product",
    index=by_product,
    partition="PRODUCT#{product_id}",
    joins=[Join("profile", partition="{GSI2_SK}", sort="PROFILE")],
    about="Who bought a product, and with which order",
)
order_by_payment = AccessPattern(
    "order-by-payment",
    index=by_payment,
    partition="PAYMENT#{transaction_id}",
    about="The order behind a payment",
)
orders_by_delivery_date = AccessPattern(
    "orders-by-delivery-date",
    index=by_delivery_date,
    partition="{delivery_date}",
    about="The orders to be delivered on one day",
)
orders_of_customer = AccessPattern(
    "orders-of-customer",
    index=dashboard,
    partition="{customer_id}",
    about="A customer's orders, by status and date",
)
orders_of_customer_by_status = AccessPattern(
    "orders-of-customer-by-status",
    index=dashboard,
    partition="{customer_id}",
    sort="{status}",
    about="A customer's orders of one status, by date",
)
orders_of_customer_between = AccessPattern(
    "orders-of-customer-between",
    index=dashboard,
    partition="{customer_id}",
    sort="{status}",
    sort_between=("{start}", "{end}"),
    about="A customer's orders of one status between two dates",
)
orders_per_status = AccessPattern(
    "orders-per-status",
    total=statuses,
    sort="{status}",
    optional=["status"],
    about="How many orders each status has",
)
daily_sales = AccessPattern(
    "daily-sales",
    total=sales,
    sort_between=("{start}", "{end}"),
    optional=["start", "end"],
    about="Orders and revenue of each day, without cancelled orders",
)
best_sellers = AccessPattern(
    "best-sellers",
    total=sellers,
    ranked=True,
    descending=True,
    joins=[Join("details", partition="PRODUCT#{productId}", sort="DETAILS")],
    about="Products by revenue, the highest first",
)
best_customers = AccessPattern(
    "best-customers",
    total=spending,
    ranked=True,
    descending=True,
    joins=[Join("profile", partition="USER#{userId}", sort="PROFILE")],
    about="Users by spending, the highest first",
)
spending_of_user = AccessPattern(
    "spending-of-user",
    total=spending,
    sort="{user_id}",
    about="How many orders a user has, and for how much, without cancelled orders",
)

OPEN = {"PENDING", "PAID", "PACKED"}  # orders that still need work
CANCELLED = "CANCELLED"


def is_order(item: Item) -> bool:
    """Return whether an item is an order: its sort key begins with a date."""
    return bool(item["SK"][:1].isdigit())


@view(orders, when=is_order)
def order(item: Item) -> Iterator[Row]:
    """List an order under its user and by status while it is open, and what was bought with it."""
    user = key("USER", item["CustomerId"])
    status = item["Status"]
    yield Row(
        user,
        key("ORDER", raw=item["SK"]),
        data=item.pick(
            "OrderId", "Status", "OrderDate", "CreatedAt", "DeliveryDate", "Total", "Items"
        ),
        indexes=[
            dashboard(item["CustomerId"], status, item["OrderDate"]),
            # Sparse: a closed order is in no status list, an unpaid one behind no payment, an old
            # one on no day.
            *(
                [by_status(key("ORDER", "STATUS", status), key("CREATED_AT", item["CreatedAt"]))]
                if status in OPEN
                else []
            ),
            *([by_payment(key("PAYMENT", paid))] if (paid := item.get("TransactionId")) else []),
            *([by_delivery_date(item["DeliveryDate"])] if "DeliveryDate" in item else []),
        ],
        totals=[statuses(status), *(sold(item) if status != CANCELLED else [])],
    )
    if status != CANCELLED:
        yield from purchases(item, user)


def sold(item: Item) -> list[Contribution]:
    """Return what an order adds to the sales of its day and to the spending of its user."""
    total = item.get("Total", 0)
    return [
        sales(item["OrderDate"], revenue=total),
        spending(item["CustomerId"], spent=total),
    ]


def purchases(item: Item, user: str) -> Iterator[Row]:
    """List each product of an order once, under the order and by product."""
    for product, lines in lines_by_product(item).items():
        line = lines[-1]
        yield Row(
            key("ORDER", item["OrderId"]),
            # With the item's full key, because an order with a corrected date or customer is
            # another item.
            key("PRODUCT", product, item["CustomerId"], raw=item["SK"]),
            data=item.pick("OrderId", "OrderDate") | line.pick("Id", "Name", "Price", "Quantity"),
            indexes=[by_product(key("PRODUCT", product), user)],
            totals=[
                sellers(
                    product,
                    units=sum(line.get("Quantity", 1) for line in lines),
                    revenue=sum(line.get("Price", 0) * line.get("Quantity", 1) for line in lines),
                )
            ],
        )


def lines_by_product(item: Item) -> dict[str, list[Item]]:
    """Return the lines of an order, grouped by product."""
    lines: dict[str, list[Item]] = {}
    for line in item["Items"]:
        lines.setdefault(line["Id"], []).append(line)
    return lines


@view(orders, sort_begins="FAVOURITE#")
def favourite(item: Item) -> Iterator[Row]:
    """List a favourite under its user."""
    yield Row(
        key("USER", item["CustomerId"]),
        item["SK"],
        data=item.pick("ItemId", "ItemName", "ItemPrice", "ItemDescription", "ItemCategory"),
    )
