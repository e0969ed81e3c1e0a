"""Scores of one to four digits, which text would put in another order."""

from typing import Any

from examples.question import Found, Items, Question


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


def found(player: str, points: int) -> Found:
    """Expect a player's score in the winter tournament."""
    return Found(f"PLAYER#{player}", "TOURNAMENT#WINTER2024", {"score": points})


EAST = {"tournament": "WINTER2024", "region": "NA-EAST"}

QUESTIONS = [
    Question(
        "best-of-region",
        EAST,
        [found("p2", 1200), found("p1", 950), found("p4", 88), found("p3", 7)],
    ),
    Question(
        "players-from-score",
        EAST | {"least": 88},
        [found("p2", 1200), found("p1", 950), found("p4", 88)],
    ),
]
