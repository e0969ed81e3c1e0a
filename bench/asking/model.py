"""Three access patterns and their pages: one partition, eight shards, several attributes.

Each page is what DynamoDB would send: as many rows as the limit, and a key to continue.
"""

import json
import re
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from adminview.model import AccessPattern, Index, Registry
from adminview.model.row import Attributes, provenance
from bench.streams import Load
from bench.ways.rows import SHOWN

# As the API queries, as the commands do locally, and without AdminView.
OURS, OVER_BOTO3, BY_HAND = "adminview", "over boto3", "boto3"
ROWS, SHARDS = 50, 8  # of a page, and of the sharded index
USER, STATUS = "user-00001", "PENDING"
SHARD: Final = re.compile(rb'"N": ?"(\d)"')  # the only number in any of the queries
LIMIT: Final = re.compile(rb'"Limit": ?(\d+)')

by_status = Index("ByStatus", partition="GSI1_PK", sort="GSI1_SK", include=["data"], shards=SHARDS)
by_customer = Index(
    "ByCustomer", partition=["customerId"], sort=["status", "orderDate"], include=["data"]
)
orders_of_user = AccessPattern("one-partition", partition="USER#{user_id}", sort_begins="ORDER#")
orders_by_status = AccessPattern(
    "eight-shards", index=by_status, partition="ORDER#STATUS#{status}", sort_begins="CREATED_AT#"
)
orders_of_customer = AccessPattern(
    "several-attributes", index=by_customer, partition="{user_id}", sort="{status}"
)
QUESTIONS: Final = {
    orders_of_user.name: {"user_id": USER},
    orders_by_status.name: {"status": STATUS},
    orders_of_customer.name: {"user_id": USER, "status": STATUS},
}


def registry() -> Registry:
    return Registry.of([sys.modules[__name__]])


def answer(body: bytes) -> bytes:
    """Return the stub's response to a query."""
    shard, limit = SHARD.search(body), LIMIT.search(body)
    return page(int(shard[1]) if shard else 0, int(limit[1]) if limit else ROWS)


@cache
def page(shard: int, limit: int) -> bytes:
    """Return a page of one shard; the rows of all shards alternate."""
    orders = enumerate(_orders(limit))
    rows = [_row(place * SHARDS + shard, shard, order) for place, order in orders]
    told: dict[str, Any] = {
        "Items": rows,
        "Count": len(rows),
        "ScannedCount": len(rows),
        "LastEvaluatedKey": {name: rows[-1][name] for name in ("PK", "SK")},
        "ConsumedCapacity": {"TableName": "AdminViewTable", "CapacityUnits": 4.0},
    }
    return json.dumps(told).encode()


@cache
def _orders(number: int) -> list[Mapping[str, Any]]:
    records = (one for event in Load(4 * number).batches() for one in event["Records"])
    images = [one["dynamodb"]["NewImage"] for one in records if one["eventName"] == "INSERT"]
    return images[:number]


def _row(place: int, shard: int, order: Mapping[str, Any]) -> Attributes:
    number = f"{place:08d}"
    return {
        "PK": {"S": f"USER#{USER}"},
        "SK": {"S": f"ORDER#{number}"},
        "GSI1_PK": {"S": f"ORDER#STATUS#{STATUS}"},
        "GSI1_SK": {"S": f"CREATED_AT#{number}"},
        by_status.stored_partition[-1].name: {"N": str(shard)},
        "customerId": {"S": USER},
        "status": {"S": STATUS},
        "orderDate": {"S": number},
        "data": {"M": {name: order[name] for name in SHOWN}},
        **provenance(f"Orders/{number}", "0" * 21, 0, "0" * 16),
    }
