"""Time a backfill, a verification and two plain scans of the same table.

*Busy* is the processor time of our process per second. If it is well below one core, the engine is
the bottleneck.
"""

from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any, Final

from adminview.aws.clients import Clients
from adminview.aws.concurrency import batched
from adminview.aws.deadline import Deadline
from adminview.aws.metered_client import Metered
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.transport.dynamodb_client import DynamoDbHttpClient
from adminview.bulk.runs import BACKFILL, Bulk, make_bulk
from adminview.bulk.verification import Verification
from adminview.bulk.verify.scope import Scope
from adminview.cli.bulk.segment_pool import SegmentPool
from adminview.cli.shutdown import Shutdown
from adminview.local.engines import dynamodb_local_engine
from adminview.local.local_cloud import LocalCloud, direct_client_to
from adminview.model.row import VIEW_TABLE
from bench.bulk import parallel_scan
from bench.model import orders, registry
from bench.report import number, table
from bench.streams import Load, inserted_images

SEGMENTS: Final = 4
BATCH_LIMIT: Final = 25

SCAN, COPY, VERIFY = "scan", "copy", "verify"
BACKFILL_EMPTY, BACKFILL_AGAIN = "backfill", "repeated backfill"
BACKFILL_BOTO3, VERIFY_BOTO3 = "backfill over boto3", "verify over boto3"
LABELS: Final = {
    SCAN: "a plain parallel scan, which writes nothing",
    COPY: "the same, and every row is put in batches, unchecked",
    BACKFILL_EMPTY: "a backfill as deployed, into an empty view",
    BACKFILL_AGAIN: "the same again, which writes nothing",
    VERIFY: "a verification as deployed, of items and rows",
    BACKFILL_BOTO3: "a backfill run locally, over boto3",
    VERIFY_BOTO3: "a verification run locally, over boto3",
}


def measure(items: int) -> dict[str, Any]:
    """Fill a table, and time each operation on it."""
    with dynamodb_local_engine() as engine:
        cloud = LocalCloud.start(engine, registry())
        client = engine.dynamodb()
        put_orders(client, items)
        operations: dict[str, Callable[[], int]] = {
            SCAN: lambda: parallel_scan.scan(client, orders.name, SEGMENTS),
            COPY: lambda: parallel_scan.copy(client, orders.name, VIEW_TABLE, SEGMENTS),
            BACKFILL_EMPTY: lambda: backfill(cloud, deployed_client(cloud)),
            BACKFILL_AGAIN: lambda: backfill(cloud, deployed_client(cloud)),
            VERIFY: lambda: verify(cloud, deployed_client(cloud)),
            BACKFILL_BOTO3: lambda: backfill(cloud, client),
            VERIFY_BOTO3: lambda: verify(cloud, client),
        }
        results = {}
        for name, operation in operations.items():
            if name in (BACKFILL_EMPTY, BACKFILL_BOTO3):
                delete_rows(client)
            results[name] = timed(operation, items)
        return results


def put_orders(client: Any, items: int) -> None:
    images = inserted_images(Load(3 * items))
    assert len(images) >= items
    for batch in batched(images[:items], BATCH_LIMIT):
        client.batch_write_item(
            RequestItems={orders.name: [{"PutRequest": {"Item": image}} for image in batch]}
        )


def delete_rows(client: Any) -> None:
    """Delete all rows of the view."""
    pages = client.get_paginator("scan").paginate(
        TableName=VIEW_TABLE, ProjectionExpression="PK, SK"
    )
    for page in pages:
        for batch in batched(page["Items"], BATCH_LIMIT):
            client.batch_write_item(
                RequestItems={VIEW_TABLE: [{"DeleteRequest": {"Key": key}} for key in batch]}
            )


def bulk_of(cloud: LocalCloud, client: Any) -> Bulk:
    clients = Clients(client, cloud.clients.sqs)
    metered = Metered(clients.dynamodb, RateLimiter(), RateLimiter())
    return make_bulk(cloud.registry, cloud.settings, clients, metered)


def backfill(cloud: LocalCloud, client: Any) -> int:
    bulk = bulk_of(cloud, client)
    pool = SegmentPool(bulk, bulk.run(BACKFILL, orders.name), Shutdown(), tolerated=0)
    outcome = pool.work(SEGMENTS)
    assert outcome.finished, outcome.trouble
    return outcome.counts["items"]


def deployed_client(cloud: LocalCloud) -> Any:
    """Return the client of the deployed functions."""
    return DynamoDbHttpClient(direct_client_to(cloud.engine), cloud.engine.dynamodb)


def verify(cloud: LocalCloud, client: Any) -> int:
    bulk, scope, soon = bulk_of(cloud, client), Scope(SEGMENTS), Deadline.after(60)
    verification = Verification(bulk)
    for run in verification.runs:
        own = verification.scope_of(run, scope, deadline=soon)
        outcome = SegmentPool(bulk, run, Shutdown(), tolerated=0).work(scope=own)
        assert outcome.finished, outcome.trouble
    report = verification.report(deadline=soon)
    assert not report.total["left"]
    return report.counts[orders.name]["items"]


def timed(operation: Callable[[], int], items: int) -> dict[str, float]:
    """Process all items once, and return the seconds and processor seconds per 1,000."""
    start, processor_start = perf_counter(), process_time()
    assert operation() == items
    seconds, processor = perf_counter() - start, process_time() - processor_start
    return {"seconds": seconds * 1000 / items, "processor": processor * 1000 / items}


def lines(results: dict[str, Any]) -> list[str]:
    """Return the lines of the report."""
    head = ["whole tables on DynamoDB Local", "items/s", "CPU s/1,000", "busy", "times the scan"]
    rows = [
        [
            LABELS[name],
            number(1000 / timing["seconds"]),
            number(timing["processor"], 3),
            f"{100 * timing['processor'] / timing['seconds']:.0f} %",
            number(timing["seconds"] / results[SCAN]["seconds"], 1),
        ]
        for name, timing in results.items()
    ]
    return table(head, rows)
