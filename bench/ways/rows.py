"""The rows of an order, written by hand, for implementations without a model.

Rows contain all but the internal attributes of an order. Their size matters to implementations that
deserialise every value; with BENCH_ROWS=lean in the environment, rows contain only a few.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

SETTING, LEAN = "BENCH_ROWS", "lean"
IS_LEAN: Final = os.environ.get(SETTING) == LEAN

OPEN: Final = frozenset({"PENDING", "PAID", "SHIPPED"})
ALL: Final = (
    *("orderId", "status", "total", "currency", "createdAt", "channel"),
    *("address", "payment", "lines", "tags"),
)
SHOWN: Final = ("orderId", "status", "total", "createdAt") if IS_LEAN else ALL
SHOWN_BESIDE: Final = ("status",) if IS_LEAN else ("status", "createdAt")  # a line, of its order
SHOWN_OF_LINE: Final = (
    ("quantity", "price") if IS_LEAN else ("productId", "name", "quantity", "price", "gift")
)

Row: TypeAlias = dict[str, Any]


def rows_of(order: Mapping[str, Any]) -> Iterator[Row]:
    """Derive rows from an order in Python values."""
    row: Row = {
        "PK": f"USER#{order['userId']}",
        "SK": f"ORDER#{order['orderId']}",
        "data": {name: order[name] for name in SHOWN},
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
            "data": {name: order[name] for name in SHOWN_BESIDE}
            | {name: line[name] for name in SHOWN_OF_LINE},
        }


def wire_rows_of(image: Mapping[str, Any]) -> Iterator[Row]:
    """Derive rows from an order in DynamoDB JSON, without deserialising its values."""
    order, user = image["orderId"]["S"], image["userId"]["S"]
    status = image["status"]["S"]
    row: Row = {
        "PK": {"S": f"USER#{user}"},
        "SK": {"S": f"ORDER#{order}"},
        "data": {"M": {name: image[name] for name in SHOWN}},
    }
    if status in OPEN:
        row["GSI1_PK"] = {"S": f"ORDER#STATUS#{status}"}
        row["GSI1_SK"] = {"S": f"CREATED_AT#{image['createdAt']['S']}"}
    yield row
    yield from wire_purchases_of(image)


def wire_purchases_of(image: Mapping[str, Any]) -> Iterator[Row]:
    """Derive the rows of the purchases."""
    order, user = image["orderId"]["S"], image["userId"]["S"]
    beside = {name: image[name] for name in SHOWN_BESIDE}
    for one in image["lines"]["L"]:
        line = one["M"]
        product = f"PRODUCT#{line['productId']['S']}"
        yield {
            "PK": {"S": f"ORDER#{order}"},
            "SK": {"S": product},
            "GSI2_PK": {"S": product},
            "GSI2_SK": {"S": f"USER#{user}"},
            "data": {"M": {**beside, **{name: line[name] for name in SHOWN_OF_LINE}}},
        }


def key_of(row: Row) -> Row:
    return {"PK": row["PK"], "SK": row["SK"]}
