"""Three accounts' inventories, and a login that no view may show."""

from typing import Any

from examples.query import ExampleQuery, ExpectedRow, Items


def inventory(account: str, level: int, slot: str, **gear: int) -> dict[str, Any]:
    """Write one slot of an account's inventory, with the scores."""
    pieces = [{"name": name, "type": slot, "gear_score": score} for name, score in gear.items()]
    key = {"PK": account, "SK": f"inventory:{slot}"}
    return key | {"level": level, "state": "Active", "data": {slot: pieces}}


ITEMS: Items = {
    "UserAccounts": [
        inventory("account1234", 12, "armor", pauldrons=545, greaves=382),
        inventory("account1234", 12, "weapons", sword=320),
        inventory("account1387", 12, "armor", pauldrons=1020),
        inventory("account1138", 9, "armor", shield=99),
        {"PK": "account1234", "SK": "login-data", "data": {"pw": "not-for-any-view"}},
        {"PK": "account1234", "SK": "info", "data": {"email": "player@game.example"}},
    ]
}


def expected(account: str, place: str, score: int) -> ExpectedRow:
    return ExpectedRow(
        f"ACCOUNT#{account}", f"GEAR#{place}", {"gear_score": score, "state": "Active"}
    )


PAULDRONS, GREAVES = (
    expected("account1234", "armor#0", 545),
    expected("account1234", "armor#1", 382),
)
SWORD, STRONGEST = (
    expected("account1234", "weapons#0", 320),
    expected("account1387", "armor#0", 1020),
)

QUERIES = [
    ExampleQuery("gear-of-account", {"account_id": "account1234"}, [PAULDRONS, GREAVES, SWORD]),
    ExampleQuery("gear-of-level", {"level": 12}, [STRONGEST, PAULDRONS, GREAVES, SWORD]),
    ExampleQuery(
        "gear-of-level-from", {"level": 12, "least": 382}, [GREAVES, PAULDRONS, STRONGEST]
    ),
    ExampleQuery("gear-of-level-from", {"level": 9, "least": 100}, []),
]
