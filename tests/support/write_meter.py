"""Write units as DynamoDB reports them."""

from collections import Counter
from typing import Any

from adminview.local.local_cloud import LocalCloud
from adminview.model.row import VIEW_TABLE
from adminview.model.write_units import Units
from adminview.runtime import make_runtime


class Meter:
    """Sums up the units that the writes of a boto3 client to one table consume."""

    def __init__(self, client: Any, table: str = VIEW_TABLE) -> None:
        self._table = table
        self._taken: Counter[str] = Counter()
        for call in ("PutItem", "DeleteItem", "UpdateItem", "BatchWriteItem"):
            client.meta.events.register(f"before-parameter-build.dynamodb.{call}", self._ask)
            client.meta.events.register(f"after-call.dynamodb.{call}", self._receive)

    def read(self) -> Units:
        """Return the sum, and reset it."""
        taken, self._taken = self._taken, Counter()
        return Units(taken.pop(self._table, 0), dict(taken))

    def _ask(self, params: Any, **_: Any) -> None:
        params["ReturnConsumedCapacity"] = "INDEXES"

    def _receive(self, parsed: Any, **_: Any) -> None:
        consumed = parsed.get("ConsumedCapacity", [])
        for entry in consumed if isinstance(consumed, list) else [consumed]:
            if entry["TableName"] == self._table:
                self._taken[self._table] += int(entry["Table"]["CapacityUnits"])
                indexes = entry.get("GlobalSecondaryIndexes", {})
                self._taken.update({i: int(use["CapacityUnits"]) for i, use in indexes.items()})


def let_it_be_heard(cloud: LocalCloud) -> None:
    """Let the sync write with the cloud's boto3 client: both clients send the same requests."""
    cloud.runtime = make_runtime(cloud.registry, cloud.settings, cloud.clients, cloud.ledger)
