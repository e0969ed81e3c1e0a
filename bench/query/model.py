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
from bench.contenders.rows import ORDER_ATTRIBUTES
from bench.streams import Image, Load, inserted_images

# The client of the API, that of the local commands, and boto3 without AdminView.
OURS, OVER_BOTO3, BOTO3 = "adminview", "over boto3", "boto3"
ROWS, SHARDS = 50, 8  # per page, and of the sharded index
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
QUERIES: Final = {
    orders_of_user.name: {"user_id": USER},
    orders_by_status.name: {"status": STATUS},
    orders_of_customer.name: {"user_id": USER, "status": STATUS},
}


def registry() -> Registry:
    return Registry.of([sys.modules[__name__]])


def query_response(body: bytes) -> bytes:
    """Return the stub's response to a query."""
    shard, limit = SHARD.search(body), LIMIT.search(body)
    return page(int(shard[1]) if shard else 0, int(limit[1]) if limit else ROWS)


@cache
def page(shard: int, limit: int) -> bytes:
    """Return a page of one shard; the rows of all shards alternate."""
    orders = enumerate(_orders(limit))
    rows = [_row(position * SHARDS + shard, shard, order) for position, order in orders]
    response: dict[str, Any] = {
        "Items": rows,
        "Count": len(rows),
        "ScannedCount": len(rows),
        "LastEvaluatedKey": {name: rows[-1][name] for name in ("PK", "SK")},
        "ConsumedCapacity": {"TableName": "AdminViewTable", "CapacityUnits": 4.0},
    }
    return json.dumps(response).encode()


@cache
def _orders(number: int) -> list[Image]:
    return inserted_images(Load(4 * number))[:number]


def _row(position: int, shard: int, order: Mapping[str, Any]) -> Attributes:
    number = f"{position:08d}"
    return {
        "PK": {"S": f"USER#{USER}"},
        "SK": {"S": f"ORDER#{number}"},
        "GSI1_PK": {"S": f"ORDER#STATUS#{STATUS}"},
        "GSI1_SK": {"S": f"CREATED_AT#{number}"},
        by_status.stored_partition[-1].name: {"N": str(shard)},
        "customerId": {"S": USER},
        "status": {"S": STATUS},
        "orderDate": {"S": number},
        "data": {"M": {name: order[name] for name in ORDER_ATTRIBUTES}},
        **provenance(f"Orders/{number}", "0" * 21, 0, "0" * 16),
    }
