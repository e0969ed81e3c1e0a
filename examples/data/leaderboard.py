"""Scores of one to four digits, which text would put in another order."""

from typing import Any

from examples.query import ExampleQuery, ExpectedRow, Items


def score(player: str, points: int, region: str = "NA-EAST") -> dict[str, Any]:
    """Write a player's score in the winter tournament."""
    key = {"playerId": player, "tournament": "WINTER2024"}
    return key | {"region": region, "score": points}


ITEMS: Items = {
    "Scores": [
        score("p1", 950),
        score("p2", 1200),
        score("p3", 7),
        score("p4", 88),
        score("p5", 4000, region="EU"),
        score("p2", 30) | {"tournament": "AUTUMN2023"},
    ]
}


def expected(player: str, points: int) -> ExpectedRow:
    """Expect a player's score in the winter tournament."""
    return ExpectedRow(f"PLAYER#{player}", "TOURNAMENT#WINTER2024", {"score": points})


EAST = {"tournament": "WINTER2024", "region": "NA-EAST"}

QUERIES = [
    ExampleQuery(
        "best-of-region",
        EAST,
        [expected("p2", 1200), expected("p1", 950), expected("p4", 88), expected("p3", 7)],
    ),
    ExampleQuery(
        "players-from-score",
        EAST | {"least": 88},
        [expected("p2", 1200), expected("p1", 950), expected("p4", 88)],
    ),
]
