"""Orders from before customers could choose a day."""

from datetime import date, timedelta

from adminview import Item, migration
from lambdas.views.orders import is_order, orders

USUAL = timedelta(weeks=3)


@migration(orders, name="orders-delivery-date", sets="DeliveryDate", when=is_order)
def delivery_date(item: Item) -> dict[str, str]:
    """Set the delivery date of old orders to three weeks after the order."""
    return {"DeliveryDate": str(date.fromisoformat(item["OrderDate"]) + USUAL)}
