"""Customers of a CRM by organisation, team and segment: with a synthetic key.

Values are concatenated into two texts. So times are texts, too, and sort correctly only while all
have the same number of digits.
"""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, Source, key, view

customers = Source("Customers", partition_key="customerId")

by_segment = Index("GSI1", partition="GSI1PK", sort="GSI1SK", include=["data"])

active_customers = AccessPattern(
    "active-customers",
    index=by_segment,
    partition="ORG#{org_id}#TEAM#{team_id}",
    sort_between=("SEG#{segment}#TS#{start}", "SEG#{segment}#TS#{end}"),
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
            by_segment(
                key("ORG", item["orgId"], "TEAM", item["teamId"]),
                key("SEG", item["segment"], "TS", item["lastInteraction"]),
            )
        ],
    )
