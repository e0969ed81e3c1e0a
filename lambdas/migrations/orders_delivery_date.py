"""Orders from before customers could choose a day."""

from datetime import date, timedelta

from adminview import Item, migration
from lambdas.views.orders import is_order, orders

USUAL = timedelta(weeks=3)


@migration(orders, name="orders-delivery-date", sets="DeliveryDate", when=is_order)
def delivery_date(item: Item) -> dict[str, str]:
    """Deliver three weeks after the order, where nobody said when."""
    return {"DeliveryDate": str(date.fromisoformat(item["OrderDate"]) + USUAL)}
