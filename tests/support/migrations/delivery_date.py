"""A delivery date for orders that have none."""

from datetime import date, timedelta

from adminview import Item, migration
from tests.support.views.sales import is_order, orders

THREE_WEEKS = timedelta(weeks=3)


@migration(orders, name="orders-delivery-date", sets="DeliveryDate", when=is_order)
def delivery_date(item: Item) -> dict[str, str]:
    """Deliver three weeks after the order."""
    return {"DeliveryDate": str(date.fromisoformat(item["OrderDate"]) + THREE_WEEKS)}
