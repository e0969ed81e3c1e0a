"""Teams of an organisation: region, country, business unit, team.

The index has four sort attributes, the most that an index may have. An access pattern fixes as many
as it needs, from left to right, and may use a range of the next one.
"""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, Source, key, view

teams = Source("Teams", partition_key="orgId", sort_key="teamId")

by_place = Index(
    "TeamsByPlace",
    partition="orgId",
    sort=["region", "country", "businessUnit", "team"],
    include=["data"],
)

teams_of_organisation = AccessPattern(
    "teams-of-organisation",
    index=by_place,
    partition="{org_id}",
    about="Every team of an organisation, from the top of the tree down",
)
teams_of_region = AccessPattern(
    "teams-of-region",
    index=by_place,
    partition="{org_id}",
    sort="{region}",
    about="Every team of one region",
)
teams_of_country = AccessPattern(
    "teams-of-country",
    index=by_place,
    partition="{org_id}",
    sort=["{region}", "{country}"],
    about="Every team of one country",
)
teams_of_business_unit = AccessPattern(
    "teams-of-business-unit",
    index=by_place,
    partition="{org_id}",
    sort=["{region}", "{country}", "{business_unit}"],
    about="Every team of one business unit in one country",
)
team_by_place = AccessPattern(
    "team-by-place",
    index=by_place,
    partition="{org_id}",
    sort=["{region}", "{country}", "{business_unit}", "{team}"],
    about="One team, by its whole path",
)

# A range at each level of the tree.
teams_below = AccessPattern(
    "teams-below",
    index=by_place,
    partition={"orgId": "{org_id}"},
    sort={
        "region": "{region}",
        "country": "{country}",
        "businessUnit": "{business_unit}",
        "team": "{team}",
    },
    optional=["region", "country", "business_unit", "team"],
    about="Every team below a place of the tree, given as many levels as one likes",
)
teams_of_regions = AccessPattern(
    "teams-of-regions",
    index=by_place,
    partition="{org_id}",
    sort_begins="{beginning}",
    about="Every team of the regions whose names begin alike",
)
teams_of_countries = AccessPattern(
    "teams-of-countries",
    index=by_place,
    partition="{org_id}",
    sort="{region}",
    sort_between=("{first}", "{last}"),
    about="Every team of a region's countries between two names",
)
teams_of_business_units = AccessPattern(
    "teams-of-business-units",
    index=by_place,
    partition="{org_id}",
    sort=["{region}", "{country}"],
    sort_from="{first}",
    about="Every team of a country's business units from one name on",
)
teams_named_like = AccessPattern(
    "teams-named-like",
    index=by_place,
    partition="{org_id}",
    sort=["{region}", "{country}", "{business_unit}"],
    sort_begins="{beginning}",
    about="A business unit's teams whose names begin alike",
)


@view(teams)
def team(item: Item) -> Iterator[Row]:
    """Place a team in the tree of its organisation."""
    yield Row(
        key("ORG", item["orgId"]),
        key("TEAM", item["teamId"]),
        data=item.pick("region", "country", "businessUnit", "team", "size"),
        indexes=[
            by_place(
                item["orgId"], item["region"], item["country"], item["businessUnit"], item["team"]
            )
        ],
    )
