"""Two warehouses, and a product whose stock is counted twice."""

from typing import Any

from examples.query import ExampleQuery, ExpectedRow, Items


def stock(warehouse: str, product: str, quantity: int, hour: int) -> dict[str, Any]:
    """Write what a warehouse has of a product."""
    at = f"2025-07-01T{hour:02}:00:00Z"
    return {
        "WarehouseId": warehouse,
        "ProductId": product,
        "Quantity": quantity,
        "LastUpdated": at,
    }


ITEMS: Items = {
    "Stock": [
        stock("north", "bolt", 40, 9),
        stock("north", "nut", 15, 11),
        stock("north", "screw", 7, 10),
        stock("south", "bolt", 3, 12),
        stock("north", "bolt", 38, 12),  # counted again: it has moved to the front
    ]
}


def expected(product: str, quantity: int) -> ExpectedRow:
    """Expect stock of the first warehouse."""
    return ExpectedRow("WAREHOUSE#north", f"STOCK#{product}", {"Quantity": quantity})


NORTH = {"warehouse_id": "north"}
BOLT, NUT, SCREW = expected("bolt", 38), expected("nut", 15), expected("screw", 7)

QUERIES = [
    ExampleQuery("stock-of-product", NORTH | {"product_id": "bolt"}, [BOLT]),
    ExampleQuery("stock-of-warehouse", NORTH, [BOLT, NUT, SCREW]),
    ExampleQuery("stock-of-warehouse", NORTH | {"since": "2025-07-01T11:00:00Z"}, [BOLT, NUT]),
    ExampleQuery("stock-of-warehouse", NORTH, counted=3),
]
