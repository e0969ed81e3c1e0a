"""Three accounts' inventories, and a login that no view may show."""

from typing import Any

from examples.question import Found, Items, Question


def inventory(account: str, level: int, slot: str, **gear: int) -> dict[str, Any]:
    """Write what an account has of one kind, with its score."""
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


def found(account: str, place: str, score: int) -> Found:
    """Expect a piece of gear."""
    return Found(f"ACCOUNT#{account}", f"GEAR#{place}", {"gear_score": score, "state": "Active"})


PAULDRONS, GREAVES = found("account1234", "armor#0", 545), found("account1234", "armor#1", 382)
SWORD, STRONGEST = found("account1234", "weapons#0", 320), found("account1387", "armor#0", 1020)

QUESTIONS = [
    Question("gear-of-account", {"account_id": "account1234"}, [PAULDRONS, GREAVES, SWORD]),
    Question("gear-of-level", {"level": 12}, [STRONGEST, PAULDRONS, GREAVES, SWORD]),
    Question("gear-of-level-from", {"level": 12, "least": 382}, [GREAVES, PAULDRONS, STRONGEST]),
    Question("gear-of-level-from", {"level": 9, "least": 100}, []),
]
