"""Customers of a CRM, while the panel moves from the synthetic key to a multi-attribute one.

Both indexes are filled and both access patterns are ready, so that clients can change over one by
one.
"""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, Source, key, number, view

customers = Source("Customers", partition_key="customerId")

by_segment = Index("GSI1", partition="GSI1PK", sort="GSI1SK", include=["data"])
by_team_and_segment = Index(
    "CustomerByOrgTeamSegment",
    partition=["orgId", "teamId", "segment"],
    sort=number("lastInteraction"),
    include=["data"],
)

active_customers = AccessPattern(
    "active-customers",
    index=by_segment,
    partition="ORG#{org_id}#TEAM#{team_id}",
    sort_between=("SEG#{segment}#TS#{start}", "SEG#{segment}#TS#{end}"),
    about="The customers of a team's segment that were active between two times",
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
    """Show a customer, and list it by segment and last activity, twice."""
    yield Row(
        key("CUSTOMER", item["customerId"]),
        "DETAILS",
        data=item.pick("customerId", "name", "lastInteraction"),
        indexes=[
            by_segment(
                key("ORG", item["orgId"], "TEAM", item["teamId"]),
                key("SEG", item["segment"], "TS", item["lastInteraction"]),
            ),
            by_team_and_segment(
                item["orgId"], item["teamId"], item["segment"], item["lastInteraction"]
            ),
        ],
    )
