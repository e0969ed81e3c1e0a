"""Users: one item, several rows."""

from collections.abc import Iterator

from adminview import AccessPattern, Item, Row, Source, key, view

users = Source("Users", partition_key="userId")

user_profile = AccessPattern(
    "user-profile", partition="USER#{user_id}", sort="PROFILE", about="The profile of one user"
)
addresses_of_user = AccessPattern(
    "addresses-of-user", partition="USER#{user_id}", sort_begins="ADDRESS#", about="Addresses"
)


@view(users)
def profile(item: Item) -> Iterator[Row]:
    """Show a user's profile and addresses."""
    user = key("USER", item["userId"])
    yield Row(user, "PROFILE", data=item.pick("userId", "name", "email", "createdAt", "isActive"))
    for address in item.get("addresses", []):
        yield Row(user, key("ADDRESS", address["id"]), data=address)
