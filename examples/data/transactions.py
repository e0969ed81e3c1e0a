"""Two customers; of one of them, three types of transaction."""

from typing import Any

from examples.query import ExampleQuery, ExpectedRow, Items


def transaction(customer: str, number: str, kind: str, amount: int) -> dict[str, Any]:
    key = {"CustomerId": customer, "TransactionId": number}
    return key | {"TransactionType": kind, "Amount": amount}


ITEMS: Items = {
    "Transactions": [
        transaction("c-1", "t-1", "SALE", 30),
        transaction("c-1", "t-2", "REFUND", 10),
        transaction("c-1", "t-3", "FEE", 2),
        transaction("c-1", "t-4", "REFUND", 5),
        transaction("c-2", "t-5", "REFUND", 8),
    ]
}


def expected(number: str, kind: str) -> ExpectedRow:
    """Expect a transaction of the first customer."""
    return ExpectedRow("CUSTOMER#c-1", f"TRANSACTION#{number}", {"TransactionType": kind})


SALE, FEE = expected("t-1", "SALE"), expected("t-3", "FEE")
FIRST, SECOND = expected("t-2", "REFUND"), expected("t-4", "REFUND")
CUSTOMER = {"customer_id": "c-1"}

QUERIES = [
    ExampleQuery("transactions-of-customer", CUSTOMER, [SALE, FIRST, FEE, SECOND]),
    ExampleQuery("transactions-by-type", CUSTOMER, [FEE, FIRST, SECOND, SALE]),
    ExampleQuery("transactions-of-type", CUSTOMER | {"type": "REFUND"}, [FIRST, SECOND]),
    ExampleQuery("transactions-of-type", CUSTOMER | {"type": "REFUND"}, counted=2),
    ExampleQuery("transactions-of-type", CUSTOMER | {"type": "GIFT"}, []),
]
