"""Resources of a SaaS product's tenants, by application, environment and type.

The index needs all three of its partition attributes, so it cannot be queried by tenant alone. The
table serves those access patterns: its rows are in the tenant's partition, sorted by application,
and that needs no other index.
"""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, Source, key, number, view

resources = Source("Resources", partition_key="resourceId")

by_environment = Index(
    "TenantAppEnvironment",
    partition=["tenantId", "appId", "environment"],
    sort=["resourceType", number("createdAt")],
    include=["data"],
)

resources_of_tenant = AccessPattern(
    "resources-of-tenant",
    partition="TENANT#{tenant_id}",
    about="Every resource of a tenant, by application",
)
resources_of_app = AccessPattern(
    "resources-of-app",
    partition="TENANT#{tenant_id}",
    sort_begins="APP#{app_id}#",
    about="Every resource of one application of a tenant",
)
resources_of_environment = AccessPattern(
    "resources-of-environment",
    index=by_environment,
    partition=["{tenant_id}", "{app_id}", "{environment}"],
    about="Every resource of one environment of an application, by type and age",
)
resources_of_type = AccessPattern(
    "resources-of-type",
    index=by_environment,
    partition=["{tenant_id}", "{app_id}", "{environment}"],
    sort="{resource_type}",
    about="The resources of one type in an environment, oldest first",
)
resources_created_between = AccessPattern(
    "resources-created-between",
    index=by_environment,
    partition=["{tenant_id}", "{app_id}", "{environment}"],
    sort="{resource_type}",
    sort_between=("{start}", "{end}"),
    about="The resources of one type in an environment that were made between two times",
)


@view(resources)
def resource(item: Item) -> Iterator[Row]:
    """List a resource under its tenant, and in its environment by type and age."""
    yield Row(
        key("TENANT", item["tenantId"]),
        key("APP", item["appId"], "RESOURCE", item["resourceId"]),
        data=item.pick("resourceId", "environment", "resourceType", "createdAt"),
        indexes=[
            by_environment(
                item["tenantId"],
                item["appId"],
                item["environment"],
                item["resourceType"],
                item["createdAt"],
            )
        ],
    )
