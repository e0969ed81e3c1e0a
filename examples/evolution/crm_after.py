"""Customers of a CRM by organisation, team and segment: an attribute for each, times as numbers."""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, Source, key, number, view

customers = Source("Customers", partition_key="customerId")

by_team_and_segment = Index(
    "CustomerByOrgTeamSegment",
    partition=["orgId", "teamId", "segment"],
    sort=number("lastInteraction"),
    include=["data"],
)

customers_active_between = AccessPattern(
    "customers-active-between",
    index=by_team_and_segment,
    partition=["{org_id}", "{team_id}", "{segment}"],
    sort_between=("{start}", "{end}"),
    about="The customers of a team's segment that were active between two times",
)


@view(customers)
def customer(item: Item) -> Iterator[Row]:
    """Show a customer, and list it by segment and last activity."""
    yield Row(
        key("CUSTOMER", item["customerId"]),
        "DETAILS",
        data=item.pick("customerId", "name", "lastInteraction"),
        indexes=[
            by_team_and_segment(
                item["orgId"], item["teamId"], item["segment"], item["lastInteraction"]
            )
        ],
    )
