"""Scores of a tournament's players, by region, best first."""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, Source, key, number, view

scores = Source("Scores", partition_key="playerId", sort_key="tournament")

by_score = Index(
    "TournamentRegionIndex",
    partition=["tournament", "region"],
    sort=number("score"),
    include=["data"],
)

best_of_region = AccessPattern(
    "best-of-region",
    index=by_score,
    partition=["{tournament}", "{region}"],
    descending=True,
    about="The players of one region of a tournament, highest score first",
)
players_from_score = AccessPattern(
    "players-from-score",
    index=by_score,
    partition=["{tournament}", "{region}"],
    sort_from="{least}",
    descending=True,
    about="The players of one region with some score or a higher one, highest first",
)


@view(scores)
def score(item: Item) -> Iterator[Row]:
    """Rank a player in the region played in."""
    yield Row(
        key("PLAYER", item["playerId"]),
        key("TOURNAMENT", item["tournament"]),
        data=item.pick("playerId", "region", "score"),
        indexes=[by_score(item["tournament"], item["region"], item["score"])],
    )
