"""A parallel scan with boto3, and a copy of its rows in batches. Neither can be resumed.

The copy does not compare existing rows and ignores concurrent changes, so no backfill can cost
less.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from adminview.aws.concurrency import batched
from bench.contenders.rows import derive_raw_rows

BATCH_LIMIT = 25


def scan(client: Any, table: str, segments: int) -> int:
    """Read a table in segments, and count its items."""
    with ThreadPoolExecutor(segments) as pool:
        counts = pool.map(lambda segment: _count(client, table, segment, segments), range(segments))
        return sum(counts)


def copy(client: Any, table: str, view: str, segments: int) -> int:
    """Write the rows of all items, and count the items."""

    def copy_segment(segment: int) -> int:
        count = 0
        for items in _pages(client, table, segment, segments):
            count += len(items)
            puts = [
                {"PutRequest": {"Item": row}} for item in items for row in derive_raw_rows(item)
            ]
            for batch in batched(puts, BATCH_LIMIT):
                client.batch_write_item(RequestItems={view: batch})
        return count

    with ThreadPoolExecutor(segments) as pool:
        return sum(pool.map(copy_segment, range(segments)))


def _count(client: Any, table: str, segment: int, segments: int) -> int:
    return sum(len(items) for items in _pages(client, table, segment, segments))


def _pages(client: Any, table: str, segment: int, segments: int) -> Iterator[list[Any]]:
    pages = client.get_paginator("scan").paginate(
        TableName=table, Segment=segment, TotalSegments=segments
    )
    for page in pages:
        yield page["Items"]
