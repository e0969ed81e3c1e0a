"""Gear of a game's players, by level and strength.

The accounts' table holds several kinds of item. Logins contain secrets, so no view matches them.
"""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, Source, key, number, view

accounts = Source("UserAccounts", partition_key="PK", sort_key="SK")

by_level = Index(
    "LevelGearScore", partition=number("Level"), sort=number("GearScore"), include=["data"]
)

gear_of_account = AccessPattern(
    "gear-of-account",
    partition="ACCOUNT#{account_id}",
    sort_begins="GEAR#",
    about="Every piece of gear of one account",
)
gear_of_level = AccessPattern(
    "gear-of-level",
    index=by_level,
    partition="{level}",
    descending=True,
    about="The gear of all players of one level, strongest first",
)
gear_of_level_from = AccessPattern(
    "gear-of-level-from",
    index=by_level,
    partition="{level}",
    sort_from="{least}",
    about="The gear of all players of one level from some score on, weakest first",
)


@view(accounts, sort_begins="inventory:")
def inventory(item: Item) -> Iterator[Row]:
    """List each piece of gear under its account, and by its owner's level."""
    slot = item["SK"].removeprefix("inventory:")
    for place, piece in enumerate(item["data"][slot]):
        yield Row(
            key("ACCOUNT", item["PK"]),
            key("GEAR", slot, place),
            data=piece.pick("name", "type", "gear_score") | item.pick("state"),
            indexes=[by_level(item["level"], piece["gear_score"])],
        )
