"""Matches of a tournament, by region and round, and by player.

One index has two partition and three sort attributes; the round is a key of another index as well.
A match is in the history of its first player.
"""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, Source, key, view

matches = Source("TournamentMatches", partition_key="matchId")

by_region = Index(
    "TournamentRegionIndex",
    partition=["tournamentId", "region"],
    sort=["round", "bracket", "matchId"],
    include=["data"],
)
by_player = Index(
    "PlayerMatchHistoryIndex",
    partition="player1Id",
    sort=["matchDate", "round"],
    include=["data"],
)

matches_of_region = AccessPattern(
    "matches-of-region",
    index=by_region,
    partition=["{tournament_id}", "{region}"],
    about="Every match of a tournament in one region",
)
matches_of_round = AccessPattern(
    "matches-of-round",
    index=by_region,
    partition=["{tournament_id}", "{region}"],
    sort="{round}",
    about="The matches of one round",
)
matches_of_bracket = AccessPattern(
    "matches-of-bracket",
    index=by_region,
    partition=["{tournament_id}", "{region}"],
    sort=["{round}", "{bracket}"],
    about="The matches of one bracket in a round",
)
match_by_place = AccessPattern(
    "match-by-place",
    index=by_region,
    partition=["{tournament_id}", "{region}"],
    sort=["{round}", "{bracket}", "{match_id}"],
    about="One match, by everything that places it",
)
matches_of_player = AccessPattern(
    "matches-of-player",
    index=by_player,
    partition="{player_id}",
    descending=True,
    about="The matches of a player, latest first",
)
matches_of_player_since = AccessPattern(
    "matches-of-player-since",
    index=by_player,
    partition="{player_id}",
    sort_from="{since}",
    about="The matches of a player from one day on",
)
matches_of_player_after = AccessPattern(
    "matches-of-player-after",
    index=by_player,
    partition="{player_id}",
    sort_after="{day}",
    about="The matches of a player after one day",
)
matches_of_player_on_day = AccessPattern(
    "matches-of-player-on-day",
    index=by_player,
    partition="{player_id}",
    sort="{day}",
    about="The matches of a player on one day, by round",
)


@view(matches)
def match(item: Item) -> Iterator[Row]:
    """Place a match in its tournament, and in its first player's history."""
    yield Row(
        key("MATCH", item["matchId"]),
        "DETAILS",
        data=item.pick("matchId", "round", "bracket", "player1Id", "player2Id", "matchDate"),
        indexes=[
            by_region(
                item["tournamentId"],
                item["region"],
                item["round"],
                item["bracket"],
                item["matchId"],
            ),
            by_player(item["player1Id"], item["matchDate"], item["round"]),
        ],
    )
