"""Two organisations with teams and segments of the same names."""

from typing import Any

from examples.question import Found, Items, Question

EDGE = 1_700_000_000


def customer(customer_id: str, last: int | None, **more: str) -> dict[str, Any]:
    """Write a customer of one team and segment, unless more is said."""
    common: dict[str, Any] = {"customerId": customer_id, "name": customer_id.title()}
    place = {"orgId": "org#A1", "teamId": "marketing", "segment": "enterprise"}
    return common | place | more | ({} if last is None else {"lastInteraction": last})


ITEMS: Items = {
    "crm": [
        customer("harbour", EDGE + 86_400),
        customer("lantern", EDGE),
        customer("meadow", EDGE - 1),
        customer("orchard", 999_999_999),  # a digit less: as text it would be the latest
        customer("pebble", None),
        customer("quarry", EDGE + 5, segment="startup"),
        customer("ridge", EDGE + 6, teamId="sales"),
        customer("summit", EDGE + 7, orgId="org#B2"),
    ]
}


def found(customer_id: str, last: int) -> Found:
    """Expect a customer."""
    return Found(f"CUSTOMER#{customer_id}", "DETAILS", {"lastInteraction": last})


SEGMENT = {"org_id": "org#A1", "team_id": "marketing", "segment": "enterprise"}

QUESTIONS = [
    Question(
        "customers-of-segment",
        SEGMENT,
        [
            found("orchard", 999_999_999),
            found("meadow", EDGE - 1),
            found("lantern", EDGE),
            found("harbour", EDGE + 86_400),
        ],
    ),
    Question(
        "customers-of-segment",
        SEGMENT | {"segment": "startup"},
        [found("quarry", EDGE + 5)],
    ),
    Question("customers-of-segment", SEGMENT | {"team_id": "support"}, []),
    Question(
        "customers-in-touch",
        SEGMENT,
        [
            found("harbour", EDGE + 86_400),
            found("lantern", EDGE),
            found("meadow", EDGE - 1),
            found("orchard", 999_999_999),
        ],
    ),
    Question(
        "customers-in-touch-after",
        SEGMENT | {"after": EDGE},
        [found("harbour", EDGE + 86_400)],
    ),
    Question(
        "customers-active-since",
        SEGMENT | {"since": EDGE},
        [found("lantern", EDGE), found("harbour", EDGE + 86_400)],
    ),
    Question(
        "customers-active-between",
        SEGMENT | {"start": EDGE - 1, "end": EDGE},
        [found("meadow", EDGE - 1), found("lantern", EDGE)],
    ),
]
