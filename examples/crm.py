"""Customers of a CRM that many organisations share, by team, segment and last contact.

The index has an attribute for each part of the key, with its own type: no text is concatenated, and
times are compared as numbers. Each attribute has a template by name.
"""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, Source, key, number, view

customers = Source("crm", partition_key="customerId")

by_segment = Index(
    "CustomerByOrgTeamSegment",
    partition=["orgId", "teamId", "segment"],
    sort=number("lastInteraction"),
    include=["data"],
)

customers_of_segment = AccessPattern(
    "customers-of-segment",
    index=by_segment,
    partition={"orgId": "{org_id}", "teamId": "{team_id}", "segment": "{segment}"},
    about="A team's customers of one segment, longest silent first",
)
customers_in_touch = AccessPattern(
    "customers-in-touch",
    index=by_segment,
    partition={"orgId": "{org_id}", "teamId": "{team_id}", "segment": "{segment}"},
    descending=True,
    about="A team's customers of one segment, last contact first",
)
customers_in_touch_after = AccessPattern(
    "customers-in-touch-after",
    index=by_segment,
    partition={"orgId": "{org_id}", "teamId": "{team_id}", "segment": "{segment}"},
    sort_after="{after}",
    about="A team's customers of one segment that were in touch after some time",
)
customers_active_since = AccessPattern(
    "customers-active-since",
    index=by_segment,
    partition={"orgId": "{org_id}", "teamId": "{team_id}", "segment": "{segment}"},
    sort_from="{since}",
    about="A team's customers of one segment that were in touch at some time or later",
)
customers_active_between = AccessPattern(
    "customers-active-between",
    index=by_segment,
    partition={"orgId": "{org_id}", "teamId": "{team_id}", "segment": "{segment}"},
    sort_between=("{start}", "{end}"),
    about="A team's customers of one segment whose last contact was between two times",
)


@view(customers)
def customer(item: Item) -> Iterator[Row]:
    """Show a customer; list it by segment once somebody was in touch."""
    yield Row(
        key("CUSTOMER", item["customerId"]),
        "DETAILS",
        data=item.pick("customerId", "name", "segment", "lastInteraction"),
        indexes=[
            by_segment(item["orgId"], item["teamId"], item["segment"], item["lastInteraction"])
        ]
        if "lastInteraction" in item
        else [],  # sparse: a customer without contact is in no list
    )
