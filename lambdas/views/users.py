"""Users, as support staff look them up: the profile, and each address."""

from collections.abc import Iterator

from adminview import AccessPattern, Item, Row, Source, key, view

users = Source("Users", partition_key="userId")

user_profile = AccessPattern(
    "user-profile",
    partition="USER#{user_id}",
    sort="PROFILE",
    about="The profile of one user",
)
addresses_of_user = AccessPattern(
    "addresses-of-user",
    partition="USER#{user_id}",
    sort_begins="ADDRESS#",
    about="Every address of one user",
)


@view(users)
def profile(item: Item) -> Iterator[Row]:
    """Show a user's profile, and each of the user's addresses beside it."""
    user = key("USER", item["userId"])
    yield Row(user, "PROFILE", data=item.pick("userId", "name", "email", "createdAt", "isActive"))
    for address in item.get("addresses", []):
        yield Row(user, key("ADDRESS", address["id"]), data=address)
