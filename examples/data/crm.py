"""Two organisations with teams and segments of the same names."""

from typing import Any

from examples.query import ExampleQuery, ExpectedRow, Items

EDGE = 1_700_000_000


def customer(customer_id: str, last: int | None, **more: str) -> dict[str, Any]:
    """Write a customer of one team and segment, unless *more* says otherwise."""
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


def expected(customer_id: str, last: int) -> ExpectedRow:
    return ExpectedRow(f"CUSTOMER#{customer_id}", "DETAILS", {"lastInteraction": last})


SEGMENT = {"org_id": "org#A1", "team_id": "marketing", "segment": "enterprise"}

QUERIES = [
    ExampleQuery(
        "customers-of-segment",
        SEGMENT,
        [
            expected("orchard", 999_999_999),
            expected("meadow", EDGE - 1),
            expected("lantern", EDGE),
            expected("harbour", EDGE + 86_400),
        ],
    ),
    ExampleQuery(
        "customers-of-segment",
        SEGMENT | {"segment": "startup"},
        [expected("quarry", EDGE + 5)],
    ),
    ExampleQuery("customers-of-segment", SEGMENT | {"team_id": "support"}, []),
    ExampleQuery(
        "customers-in-touch",
        SEGMENT,
        [
            expected("harbour", EDGE + 86_400),
            expected("lantern", EDGE),
            expected("meadow", EDGE - 1),
            expected("orchard", 999_999_999),
        ],
    ),
    ExampleQuery(
        "customers-in-touch-after",
        SEGMENT | {"after": EDGE},
        [expected("harbour", EDGE + 86_400)],
    ),
    ExampleQuery(
        "customers-active-since",
        SEGMENT | {"since": EDGE},
        [expected("lantern", EDGE), expected("harbour", EDGE + 86_400)],
    ),
    ExampleQuery(
        "customers-active-between",
        SEGMENT | {"start": EDGE - 1, "end": EDGE},
        [expected("meadow", EDGE - 1), expected("lantern", EDGE)],
    ),
]
