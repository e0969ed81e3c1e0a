"""The rows of an order, derived without a model.

Rows contain all but the internal attributes of an order. Their size matters to contenders that
deserialise every value. With BENCH_ROWS=lean in the environment, rows contain only a few.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

ROWS_VARIABLE, LEAN = "BENCH_ROWS", "lean"
LEAN_ROWS: Final = os.environ.get(ROWS_VARIABLE) == LEAN

OPEN: Final = frozenset({"PENDING", "PAID", "SHIPPED"})
ALL_ATTRIBUTES: Final = (
    *("orderId", "status", "total", "currency", "createdAt", "channel"),
    *("address", "payment", "lines", "tags"),
)
ORDER_ATTRIBUTES: Final = (
    ("orderId", "status", "total", "createdAt") if LEAN_ROWS else ALL_ATTRIBUTES
)
# The row of a line has attributes of its order and of the line.
ORDER_ATTRIBUTES_OF_LINE: Final = ("status",) if LEAN_ROWS else ("status", "createdAt")
LINE_ATTRIBUTES: Final = (
    ("quantity", "price") if LEAN_ROWS else ("productId", "name", "quantity", "price", "gift")
)

Row: TypeAlias = dict[str, Any]


def derive_rows(order: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the rows of an order whose values are Python values."""
    row: Row = {
        "PK": f"USER#{order['userId']}",
        "SK": f"ORDER#{order['orderId']}",
        "data": {name: order[name] for name in ORDER_ATTRIBUTES},
    }
    if order["status"] in OPEN:
        row["GSI1_PK"] = f"ORDER#STATUS#{order['status']}"
        row["GSI1_SK"] = f"CREATED_AT#{order['createdAt']}"
    yield row
    for line in order["lines"]:
        yield {
            "PK": f"ORDER#{order['orderId']}",
            "SK": f"PRODUCT#{line['productId']}",
            "GSI2_PK": f"PRODUCT#{line['productId']}",
            "GSI2_SK": f"USER#{order['userId']}",
            "data": {name: order[name] for name in ORDER_ATTRIBUTES_OF_LINE}
            | {name: line[name] for name in LINE_ATTRIBUTES},
        }


def derive_raw_rows(image: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the rows of an order in DynamoDB JSON, without deserialising its values."""
    order, user = image["orderId"]["S"], image["userId"]["S"]
    status = image["status"]["S"]
    row: Row = {
        "PK": {"S": f"USER#{user}"},
        "SK": {"S": f"ORDER#{order}"},
        "data": {"M": {name: image[name] for name in ORDER_ATTRIBUTES}},
    }
    if status in OPEN:
        row["GSI1_PK"] = {"S": f"ORDER#STATUS#{status}"}
        row["GSI1_SK"] = {"S": f"CREATED_AT#{image['createdAt']['S']}"}
    yield row
    yield from derive_raw_purchases(image)


def derive_raw_purchases(image: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the rows of the purchases, in DynamoDB JSON."""
    order, user = image["orderId"]["S"], image["userId"]["S"]
    of_order = {name: image[name] for name in ORDER_ATTRIBUTES_OF_LINE}
    for value in image["lines"]["L"]:
        line = value["M"]
        product = f"PRODUCT#{line['productId']['S']}"
        yield {
            "PK": {"S": f"ORDER#{order}"},
            "SK": {"S": product},
            "GSI2_PK": {"S": product},
            "GSI2_SK": {"S": f"USER#{user}"},
            "data": {"M": {**of_order, **{name: line[name] for name in LINE_ATTRIBUTES}}},
        }


def key_of(row: Row) -> Row:
    return {"PK": row["PK"], "SK": row["SK"]}
