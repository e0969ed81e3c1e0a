"""Two customers; of one of them, three types of transaction."""

from typing import Any

from examples.question import Found, Items, Question


def transaction(customer: str, number: str, kind: str, amount: int) -> dict[str, Any]:
    """Write a transaction."""
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


def found(number: str, kind: str) -> Found:
    """Expect a transaction of the first customer."""
    return Found("CUSTOMER#c-1", f"TRANSACTION#{number}", {"TransactionType": kind})


SALE, FEE = found("t-1", "SALE"), found("t-3", "FEE")
FIRST, SECOND = found("t-2", "REFUND"), found("t-4", "REFUND")
CUSTOMER = {"customer_id": "c-1"}

QUESTIONS = [
    Question("transactions-of-customer", CUSTOMER, [SALE, FIRST, FEE, SECOND]),
    Question("transactions-by-type", CUSTOMER, [FEE, FIRST, SECOND, SALE]),
    Question("transactions-of-type", CUSTOMER | {"type": "REFUND"}, [FIRST, SECOND]),
    Question("transactions-of-type", CUSTOMER | {"type": "REFUND"}, counted=2),
    Question("transactions-of-type", CUSTOMER | {"type": "GIFT"}, []),
]
