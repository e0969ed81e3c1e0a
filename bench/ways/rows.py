"""The rows of an order, written by hand, for the ways that do not declare them."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

OPEN: Final = frozenset({"PENDING", "PAID", "SHIPPED"})
SHOWN: Final = ("orderId", "status", "total", "createdAt")

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
            "data": {
                "status": order["status"],
                "quantity": line["quantity"],
                "price": line["price"],
            },
        }


def wire_rows_of(image: Mapping[str, Any]) -> Iterator[Row]:
    """Derive rows from an order as the stream has it, and leave its values as they are."""
    order, user = image["orderId"]["S"], image["userId"]["S"]
    status = image["status"]
    row: Row = {
        "PK": {"S": f"USER#{user}"},
        "SK": {"S": f"ORDER#{order}"},
        "data": {"M": {name: image[name] for name in SHOWN}},
    }
    if status["S"] in OPEN:
        row["GSI1_PK"] = {"S": f"ORDER#STATUS#{status['S']}"}
        row["GSI1_SK"] = {"S": f"CREATED_AT#{image['createdAt']['S']}"}
    yield row
    for one in image["lines"]["L"]:
        line = one["M"]
        product = f"PRODUCT#{line['productId']['S']}"
        yield {
            "PK": {"S": f"ORDER#{order}"},
            "SK": {"S": product},
            "GSI2_PK": {"S": product},
            "GSI2_SK": {"S": f"USER#{user}"},
            "data": {"M": {"status": status, "quantity": line["quantity"], "price": line["price"]}},
        }


def key_of(row: Row) -> Row:
    """Take the key from a row."""
    return {"PK": row["PK"], "SK": row["SK"]}
