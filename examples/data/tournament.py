"""A winter tournament in two regions."""

from typing import Any

from examples.query import ExampleQuery, ExpectedRow, Items


def match(match_id: str, round_: str, bracket: str, player: str, **more: str) -> dict[str, Any]:
    """Write a match of the winter tournament, in the east unless *more* says otherwise."""
    common = {"tournamentId": "WINTER2024", "region": "NA-EAST", "matchDate": "2024-01-10"}
    players = {"player1Id": player, "player2Id": "900"}
    return {"matchId": match_id, "round": round_, "bracket": bracket} | common | players | more


ITEMS: Items = {
    "TournamentMatches": [
        match("match-001", "FINALS", "CHAMPIONSHIP", "101", matchDate="2024-01-20"),
        match("match-002", "SEMIFINALS", "UPPER", "101", matchDate="2024-01-18"),
        match("match-003", "SEMIFINALS", "UPPER", "102", matchDate="2024-01-18"),
        match("match-004", "SEMIFINALS", "LOWER", "103", matchDate="2024-01-17"),
        match("match-005", "QUARTERFINALS", "UPPER", "101", matchDate="2024-01-01"),
        match("match-006", "QUARTERFINALS", "UPPER", "101", region="NA-WEST"),
        match("match-007", "FINALS", "UPPER", "101", tournamentId="AUTUMN2023", region="EU")
        | {"matchDate": "2023-10-02"},
        match("match-008", "PLAY-IN", "UPPER", "101", matchDate="2024-01-01"),
    ]
}


def expected(number: int, round_: str) -> ExpectedRow:
    match_id = f"match-{number:03}"
    return ExpectedRow(f"MATCH#{match_id}", "DETAILS", {"matchId": match_id, "round": round_})


FINAL, UPPER, OTHER = expected(1, "FINALS"), expected(2, "SEMIFINALS"), expected(3, "SEMIFINALS")
LOWER, QUARTER, PLAY_IN = (
    expected(4, "SEMIFINALS"),
    expected(5, "QUARTERFINALS"),
    expected(8, "PLAY-IN"),
)
WEST, AUTUMN = expected(6, "QUARTERFINALS"), expected(7, "FINALS")

EAST = {"tournament_id": "WINTER2024", "region": "NA-EAST"}
SEMIFINALS = EAST | {"round": "SEMIFINALS"}
PLAYER = {"player_id": "101"}

QUERIES = [
    ExampleQuery("matches-of-region", EAST, [FINAL, PLAY_IN, QUARTER, LOWER, UPPER, OTHER]),
    ExampleQuery("matches-of-round", SEMIFINALS, [LOWER, UPPER, OTHER]),
    ExampleQuery("matches-of-bracket", SEMIFINALS | {"bracket": "UPPER"}, [UPPER, OTHER]),
    ExampleQuery(
        "match-by-place",
        SEMIFINALS | {"bracket": "UPPER", "match_id": "match-002"},
        [UPPER],
    ),
    ExampleQuery("match-by-place", SEMIFINALS | {"bracket": "LOWER", "match_id": "match-002"}, []),
    ExampleQuery("matches-of-player", PLAYER, [FINAL, UPPER, WEST, QUARTER, PLAY_IN, AUTUMN]),
    ExampleQuery(
        "matches-of-player-since",
        PLAYER | {"since": "2024-01-01"},
        [PLAY_IN, QUARTER, WEST, UPPER, FINAL],
    ),
    ExampleQuery(
        "matches-of-player-after",
        PLAYER | {"day": "2024-01-01"},
        [WEST, UPPER, FINAL],
    ),
    ExampleQuery("matches-of-player-on-day", PLAYER | {"day": "2024-01-01"}, [PLAY_IN, QUARTER]),
]
