"""A user with twelve orders, whose numbers say nothing of their dates."""

from typing import Any

from examples.query import ExampleQuery, ExpectedRow, Items

# By date, oldest first.
NUMBERS = ["k7", "b2", "x9", "a1", "m4", "c3", "z8", "d5", "q6", "e0", "r1", "f2"]


def order(user_id: str, order_id: str, month: int) -> dict[str, Any]:
    """Write an order of one year."""
    more = {"OrderDate": f"2025-{month:02}-15", "Total": 10 * month}
    return {"UserId": user_id, "OrderId": order_id} | more


ITEMS: Items = {
    "UserAccounts": [
        *(order("u-1", order_id, month) for month, order_id in enumerate(NUMBERS, start=1)),
        order("u-2", "g9", 6),
    ]
}

HISTORY = [
    ExpectedRow("USER#u-1", f"ORDER#{order_id}", {"OrderDate": f"2025-{month:02}-15"})
    for month, order_id in enumerate(NUMBERS, start=1)
]
USER = {"user_id": "u-1"}

QUERIES = [
    ExampleQuery("order-of-user", USER | {"order_id": "x9"}, [HISTORY[2]]),
    ExampleQuery("history-of-user", USER, HISTORY[::-1]),
    ExampleQuery("history-of-user", USER, HISTORY[:1:-1], limit=10),
    ExampleQuery("history-of-user", USER, HISTORY[::-1], pages_of=5),
    ExampleQuery("history-of-user", USER, counted=12),
    ExampleQuery(
        "history-of-user-between",
        USER | {"start": "2025-02-15", "end": "2025-04-01"},
        HISTORY[1:3],
    ),
]
