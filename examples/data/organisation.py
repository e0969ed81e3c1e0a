"""An organisation on two continents, and another that has a region of the same name."""

from typing import Any

from examples.query import ExampleQuery, ExpectedRow, Items


def team(team_id: str, *path: str, org: str = "acme", size: int = 5) -> dict[str, Any]:
    """Write a team, given its path from the region down."""
    names = ("region", "country", "businessUnit", "team")
    return {"orgId": org, "teamId": team_id, "size": size} | dict(zip(names, path, strict=True))


ITEMS: Items = {
    "Teams": [
        team("t1", "EMEA", "DE", "Retail", "Checkout", size=7),
        team("t2", "EMEA", "DE", "Retail", "Catalogue"),
        team("t3", "EMEA", "DE", "Payments", "Ledger"),
        team("t4", "EMEA", "FR", "Retail", "Checkout"),
        team("t5", "EMEA-SOUTH", "IT", "Retail", "Checkout"),
        team("t6", "APAC", "VN", "Payments", "Ledger"),
        team("t7", "APAC", "TW", "Retail", "Search"),
        team("t8", "EMEA", "DE", "Retail", "Checkout", org="other"),
        team("t9", "EMEA", "AT", "Retail", "Support"),
    ]
}


def expected(team_id: str, country: str, name: str) -> ExpectedRow:
    return ExpectedRow("ORG#acme", f"TEAM#{team_id}", {"country": country, "team": name})


SEARCH, LEDGER_VN = expected("t7", "TW", "Search"), expected("t6", "VN", "Ledger")
SUPPORT, LEDGER_DE = expected("t9", "AT", "Support"), expected("t3", "DE", "Ledger")
CATALOGUE, CHECKOUT_DE = expected("t2", "DE", "Catalogue"), expected("t1", "DE", "Checkout")
CHECKOUT_FR, CHECKOUT_IT = expected("t4", "FR", "Checkout"), expected("t5", "IT", "Checkout")

ACME = {"org_id": "acme"}
EMEA = ACME | {"region": "EMEA"}
GERMANY = EMEA | {"country": "DE"}
RETAIL = GERMANY | {"business_unit": "Retail"}

QUERIES = [
    ExampleQuery(
        "teams-of-organisation",
        ACME,
        [
            *(SEARCH, LEDGER_VN),
            *(SUPPORT, LEDGER_DE, CATALOGUE, CHECKOUT_DE, CHECKOUT_FR),
            CHECKOUT_IT,
        ],
    ),
    ExampleQuery(
        "teams-of-region",
        EMEA,
        [SUPPORT, LEDGER_DE, CATALOGUE, CHECKOUT_DE, CHECKOUT_FR],
    ),
    ExampleQuery("teams-of-region", ACME | {"region": "AMER"}, []),
    ExampleQuery("teams-of-country", GERMANY, [LEDGER_DE, CATALOGUE, CHECKOUT_DE]),
    ExampleQuery("teams-of-business-unit", RETAIL, [CATALOGUE, CHECKOUT_DE]),
    ExampleQuery("team-by-place", RETAIL | {"team": "Checkout"}, [CHECKOUT_DE]),
    ExampleQuery("teams-below", ACME | {"region": "APAC"}, [SEARCH, LEDGER_VN]),
    ExampleQuery("teams-below", GERMANY, [LEDGER_DE, CATALOGUE, CHECKOUT_DE]),
    ExampleQuery("teams-below", RETAIL | {"team": "Catalogue"}, [CATALOGUE]),
    ExampleQuery(
        "teams-of-regions",
        ACME | {"beginning": "EMEA"},
        [SUPPORT, LEDGER_DE, CATALOGUE, CHECKOUT_DE, CHECKOUT_FR, CHECKOUT_IT],
    ),
    ExampleQuery(
        "teams-of-countries",
        EMEA | {"first": "AT", "last": "DE"},
        [SUPPORT, LEDGER_DE, CATALOGUE, CHECKOUT_DE],
    ),
    ExampleQuery(
        "teams-of-business-units",
        GERMANY | {"first": "Q"},
        [CATALOGUE, CHECKOUT_DE],
    ),
    ExampleQuery("teams-named-like", RETAIL | {"beginning": "Ch"}, [CHECKOUT_DE]),
]
