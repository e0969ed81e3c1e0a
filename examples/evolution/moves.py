"""Change a model on a local engine, as safely as on AWS.

`adminview plan` and `adminview apply` do it in a deployment: an index is created and filled before
it is queried, and dropped after its last query.
"""

import time
from collections import Counter
from typing import Any

from adminview import Registry
from adminview.aws.metered_client import Metered
from adminview.aws.rate_limit import RateLimiter
from adminview.bulk.runs import BACKFILL, make_bulk
from adminview.cli.bulk.segment_pool import SegmentPool
from adminview.cli.shutdown import Shutdown
from adminview.local.local_cloud import LocalCloud
from adminview.local.tables import view_table
from adminview.model.row import VIEW_TABLE

POLL_SECONDS = 0.05


def expand(cloud: LocalCloud, model: Registry) -> Counter[str]:
    """Create the indexes that a model adds, sync with its views, and fill the indexes."""
    described = view_table(model, VIEW_TABLE)
    existing = {index.name for index in cloud.registry.indexes}
    for index in described["GlobalSecondaryIndexes"]:
        if index["IndexName"] not in existing:
            _update(cloud, {"Create": index}, described["AttributeDefinitions"])
    cloud.deploy(model)
    return rebuild(cloud)


def contract(cloud: LocalCloud, model: Registry) -> Counter[str]:
    """Sync with the views of a model, and drop the indexes that it no longer has."""
    gone = {index.name for index in cloud.registry.indexes} - {i.name for i in model.indexes}
    cloud.deploy(model)
    counts = rebuild(cloud)
    for name in sorted(gone):
        definitions = view_table(model, VIEW_TABLE)["AttributeDefinitions"]
        _update(cloud, {"Delete": {"IndexName": name}}, definitions)
    return counts


def rebuild(cloud: LocalCloud) -> Counter[str]:
    """Backfill every source with the current model."""
    client = Metered(cloud.clients.dynamodb, RateLimiter(), RateLimiter())
    bulk = make_bulk(cloud.registry, cloud.settings, cloud.clients, client)
    counts: Counter[str] = Counter()
    for source in cloud.registry.sources:
        outcome = SegmentPool(bulk, bulk.run(BACKFILL, source.name), Shutdown(), tolerated=0).work()
        assert outcome.finished, outcome.trouble
        counts += outcome.counts
    return counts


def _update(cloud: LocalCloud, update: Any, definitions: Any) -> None:
    """Change one index, the most that DynamoDB changes at once, and wait until it is active."""
    dynamodb = cloud.clients.dynamodb
    dynamodb.update_table(
        TableName=VIEW_TABLE,
        AttributeDefinitions=definitions,
        GlobalSecondaryIndexUpdates=[update],
    )
    while True:
        table: Any = dynamodb.describe_table(TableName=VIEW_TABLE)["Table"]
        indexes = table.get("GlobalSecondaryIndexes", [])
        if all(index.get("IndexStatus", "ACTIVE") == "ACTIVE" for index in indexes):
            return
        time.sleep(POLL_SECONDS)
