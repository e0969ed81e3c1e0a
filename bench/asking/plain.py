"""The same queries by hand: a boto3 client, with a thread pool and a merge for shards."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from heapq import merge
from itertools import islice
from typing import Any

from bench.asking.model import ROWS, SHARDS, STATUS, USER, by_customer, by_status
from bench.ways import TABLE

Query = Callable[..., Mapping[str, Any]]


def plain_questions(client: Any) -> dict[str, Callable[[], list[Any]]]:
    """Return a function for each query."""
    query = partial(client.query, TableName=TABLE, Limit=ROWS)
    pool = ThreadPoolExecutor(SHARDS)
    return {
        "one-partition": partial(of_user, query),
        "eight-shards": partial(by_status_of_all_shards, query, pool),
        "several-attributes": partial(of_customer, query),
    }


def of_user(query: Query) -> list[Any]:
    """Query one partition of the table."""
    answer = query(
        KeyConditionExpression="PK = :user AND begins_with(SK, :order)",
        ExpressionAttributeValues={":user": {"S": f"USER#{USER}"}, ":order": {"S": "ORDER#"}},
    )
    return list(answer["Items"])


def of_customer(query: Query) -> list[Any]:
    """Query an index by two of its attributes."""
    answer = query(
        IndexName=by_customer.name,
        KeyConditionExpression="customerId = :user AND #status = :status",
        ExpressionAttributeNames={"#status": "status"},
        ExpressionAttributeValues={":user": {"S": USER}, ":status": {"S": STATUS}},
    )
    return list(answer["Items"])


def by_status_of_all_shards(query: Query, pool: ThreadPoolExecutor) -> list[Any]:
    """Query all shards of an index at once, and merge the rows."""

    def page(shard: int) -> list[Any]:
        answer = query(
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
        return list(answer["Items"])

    merged = merge(*pool.map(page, range(SHARDS)), key=lambda row: row["GSI1_SK"]["S"])
    return list(islice(merged, ROWS))
