"""By hand: a parallel scan, and a copy of its rows in batches. Neither can be resumed.

The copy checks no existing rows and ignores concurrent changes: it is the least that a backfill can
cost.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from adminview.aws.concurrency import batched
from bench.ways.rows import wire_rows_of

CALL = 25


def scan(client: Any, table: str, segments: int) -> int:
    """Read a table in segments, and count its items."""
    with ThreadPoolExecutor(segments) as pool:
        parts = pool.map(lambda part: _count(client, table, part, segments), range(segments))
        return sum(parts)


def copy(client: Any, table: str, view: str, segments: int) -> int:
    """Write the rows of all items, and count the items."""

    def work(part: int) -> int:
        number = 0
        for items in _pages(client, table, part, segments):
            number += len(items)
            puts = [{"PutRequest": {"Item": row}} for item in items for row in wire_rows_of(item)]
            for call in batched(puts, CALL):
                client.batch_write_item(RequestItems={view: call})
        return number

    with ThreadPoolExecutor(segments) as pool:
        return sum(pool.map(work, range(segments)))


def _count(client: Any, table: str, part: int, segments: int) -> int:
    return sum(len(items) for items in _pages(client, table, part, segments))


def _pages(client: Any, table: str, part: int, segments: int) -> Iterator[list[Any]]:
    pages = client.get_paginator("scan").paginate(
        TableName=table, Segment=part, TotalSegments=segments
    )
    for page in pages:
        yield page["Items"]
