"""Two tenants; the name of one application begins with the name of another one."""

from typing import Any

from examples.query import ExampleQuery, ExpectedRow, Items

DAY = 86_400
JANUARY = 1_767_225_600


def resource(resource_id: str, place: str, kind: str, day: int) -> dict[str, Any]:
    """Write a resource; *place* is its tenant, application and environment."""
    names = ("tenantId", "appId", "environment")
    created = {"resourceType": kind, "createdAt": JANUARY + day * DAY}
    return {"resourceId": resource_id} | dict(zip(names, place.split("/"), strict=True)) | created


ITEMS: Items = {
    "Resources": [
        resource("r-1", "globex/shop/production", "vm", 9),
        resource("r-2", "globex/shop/production", "vm", 2),
        resource("r-3", "globex/shop/production", "bucket", 5),
        resource("r-4", "globex/shop/staging", "vm", 1),
        resource("r-5", "globex/shopfront/production", "vm", 3),
        resource("r-6", "globex/blog/production", "vm", 4),
        resource("r-7", "initech/shop/production", "vm", 6),
        resource("r-8", "globex/shop/production", "vm", 20),
    ]
}


def expected(resource_id: str, app: str, environment: str, kind: str) -> ExpectedRow:
    """Expect a resource of the first tenant."""
    data = {"resourceId": resource_id, "environment": environment, "resourceType": kind}
    return ExpectedRow("TENANT#globex", f"APP#{app}#RESOURCE#{resource_id}", data)


NINTH = expected("r-1", "shop", "production", "vm")
SECOND = expected("r-2", "shop", "production", "vm")
TWENTIETH = expected("r-8", "shop", "production", "vm")
BUCKET = expected("r-3", "shop", "production", "bucket")
STAGING = expected("r-4", "shop", "staging", "vm")
FRONT = expected("r-5", "shopfront", "production", "vm")
BLOG = expected("r-6", "blog", "production", "vm")

GLOBEX = {"tenant_id": "globex"}
SHOP = GLOBEX | {"app_id": "shop"}
PRODUCTION = SHOP | {"environment": "production"}
MACHINES = PRODUCTION | {"resource_type": "vm"}

QUERIES = [
    ExampleQuery(
        "resources-of-tenant",
        GLOBEX,
        [BLOG, NINTH, SECOND, BUCKET, STAGING, TWENTIETH, FRONT],
    ),
    ExampleQuery("resources-of-app", SHOP, [NINTH, SECOND, BUCKET, STAGING, TWENTIETH]),
    ExampleQuery("resources-of-environment", PRODUCTION, [BUCKET, SECOND, NINTH, TWENTIETH]),
    ExampleQuery("resources-of-type", MACHINES, [SECOND, NINTH, TWENTIETH]),
    ExampleQuery("resources-of-type", PRODUCTION | {"resource_type": "queue"}, []),
    ExampleQuery(
        "resources-created-between",
        MACHINES | {"start": JANUARY, "end": JANUARY + 9 * DAY},
        [SECOND, NINTH],
    ),
]
