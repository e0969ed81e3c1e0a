"""An organisation on two continents, and another that has a region of the same name."""

from typing import Any

from examples.question import Found, Items, Question


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


def found(team_id: str, country: str, name: str) -> Found:
    """Expect a team."""
    return Found("ORG#acme", f"TEAM#{team_id}", {"country": country, "team": name})


SEARCH, LEDGER_VN = found("t7", "TW", "Search"), found("t6", "VN", "Ledger")
SUPPORT, LEDGER_DE = found("t9", "AT", "Support"), found("t3", "DE", "Ledger")
CATALOGUE, CHECKOUT_DE = found("t2", "DE", "Catalogue"), found("t1", "DE", "Checkout")
CHECKOUT_FR, CHECKOUT_IT = found("t4", "FR", "Checkout"), found("t5", "IT", "Checkout")

ACME = {"org_id": "acme"}
EMEA = ACME | {"region": "EMEA"}
GERMANY = EMEA | {"country": "DE"}
RETAIL = GERMANY | {"business_unit": "Retail"}

QUESTIONS = [
    Question(
        "teams-of-organisation",
        ACME,
        [
            *(SEARCH, LEDGER_VN),
            *(SUPPORT, LEDGER_DE, CATALOGUE, CHECKOUT_DE, CHECKOUT_FR),
            CHECKOUT_IT,
        ],
    ),
    Question(
        "teams-of-region",
        EMEA,
        [SUPPORT, LEDGER_DE, CATALOGUE, CHECKOUT_DE, CHECKOUT_FR],
    ),
    Question("teams-of-region", ACME | {"region": "AMER"}, []),
    Question("teams-of-country", GERMANY, [LEDGER_DE, CATALOGUE, CHECKOUT_DE]),
    Question("teams-of-business-unit", RETAIL, [CATALOGUE, CHECKOUT_DE]),
    Question("team-by-place", RETAIL | {"team": "Checkout"}, [CHECKOUT_DE]),
    Question("teams-below", ACME | {"region": "APAC"}, [SEARCH, LEDGER_VN]),
    Question("teams-below", GERMANY, [LEDGER_DE, CATALOGUE, CHECKOUT_DE]),
    Question("teams-below", RETAIL | {"team": "Catalogue"}, [CATALOGUE]),
    Question(
        "teams-of-regions",
        ACME | {"beginning": "EMEA"},
        [SUPPORT, LEDGER_DE, CATALOGUE, CHECKOUT_DE, CHECKOUT_FR, CHECKOUT_IT],
    ),
    Question(
        "teams-of-countries",
        EMEA | {"first": "AT", "last": "DE"},
        [SUPPORT, LEDGER_DE, CATALOGUE, CHECKOUT_DE],
    ),
    Question(
        "teams-of-business-units",
        GERMANY | {"first": "Q"},
        [CATALOGUE, CHECKOUT_DE],
    ),
    Question("teams-named-like", RETAIL | {"beginning": "Ch"}, [CHECKOUT_DE]),
]
