"""The same queries with a boto3 client alone: a thread pool and a merge read the shards."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from heapq import merge
from itertools import islice
from typing import Any

from bench.contenders import TABLE
from bench.query.model import ROWS, SHARDS, STATUS, USER, by_customer, by_status

Query = Callable[..., Mapping[str, Any]]


def boto3_queries(client: Any) -> dict[str, Callable[[], list[Any]]]:
    """Return a function for each query, by the name of its access pattern."""
    query = partial(client.query, TableName=TABLE, Limit=ROWS)
    pool = ThreadPoolExecutor(SHARDS)
    return {
        "one-partition": partial(query_user, query),
        "eight-shards": partial(query_all_shards, query, pool),
        "several-attributes": partial(query_customer, query),
    }


def query_user(query: Query) -> list[Any]:
    """Query one partition of the table."""
    response = query(
        KeyConditionExpression="PK = :user AND begins_with(SK, :order)",
        ExpressionAttributeValues={":user": {"S": f"USER#{USER}"}, ":order": {"S": "ORDER#"}},
    )
    return list(response["Items"])


def query_customer(query: Query) -> list[Any]:
    """Query an index by two of its attributes."""
    response = query(
        IndexName=by_customer.name,
        KeyConditionExpression="customerId = :user AND #status = :status",
        ExpressionAttributeNames={"#status": "status"},
        ExpressionAttributeValues={":user": {"S": USER}, ":status": {"S": STATUS}},
    )
    return list(response["Items"])


def query_all_shards(query: Query, pool: ThreadPoolExecutor) -> list[Any]:
    """Query all shards of an index concurrently, and merge the rows."""

    def page(shard: int) -> list[Any]:
        response = query(
            IndexName=by_status.name,
            KeyConditionExpression="GSI1_PK = :status AND #shard = :shard "
            "AND begins_with(GSI1_SK, :created)",
            ExpressionAttributeNames={"#shard": by_status.stored_partition[-1].name},
            ExpressionAttributeValues={
                ":status": {"S": f"ORDER#STATUS#{STATUS}"},
                ":shard": {"N": str(shard)},
                ":created": {"S": "CREATED_AT#"},
            },
        )
        return list(response["Items"])

    merged = merge(*pool.map(page, range(SHARDS)), key=lambda row: row["GSI1_SK"]["S"])
    return list(islice(merged, ROWS))
