"""Process a table with each implementation, and measure the time.

*Busy* is the processor time of our process per second: well below one core, the engine is the
bottleneck.
"""

from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any, Final

from adminview.aws.clients import Clients
from adminview.aws.concurrency import batched
from adminview.aws.metered_client import Metered
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.transport.dynamodb_client import DynamoDbHttpClient
from adminview.bulk.runs import BACKFILL, make_bulk
from adminview.bulk.verify.scope import Scope
from adminview.bulk.verify.verifier import make_verifier
from adminview.cli.bulk.segment_pool import SegmentPool
from adminview.cli.shutdown import Shutdown
from adminview.local.engines import dynamodb_local_engine
from adminview.local.local_cloud import LocalCloud, direct_client_to
from adminview.model.row import VIEW_TABLE
from bench.bulk import plain
from bench.model import orders, registry
from bench.report import number, table
from bench.streams import Load

SEGMENTS: Final = 4
PUTS: Final = 25

SCAN, COPY, FILL, AGAIN, VERIFY = "scan", "copy", "backfill", "again", "verify"
FILL_BOTO3, VERIFY_BOTO3 = "backfill over boto3", "verify over boto3"
WENT: Final = {
    SCAN: "a plain parallel scan, which writes nothing",
    COPY: "the same, and every row put by batches, unchecked",
    FILL: "a backfill as deployed, into an empty view",
    AGAIN: "the same again: nothing is to be written",
    VERIFY: "a verification as deployed, both ways",
    FILL_BOTO3: "a backfill run locally, over boto3",
    VERIFY_BOTO3: "a verification run locally, over boto3",
}


def measure(items: int) -> dict[str, Any]:
    """Fill a table, and process it with each implementation."""
    with dynamodb_local_engine() as engine:
        cloud = LocalCloud.start(engine, registry())
        client = engine.dynamodb()
        put(client, items)
        went: dict[str, Callable[[], int]] = {
            SCAN: lambda: plain.scan(client, orders.name, SEGMENTS),
            COPY: lambda: plain.copy(client, orders.name, VIEW_TABLE, SEGMENTS),
            FILL: lambda: backfill(cloud, as_deployed(cloud)),
            AGAIN: lambda: backfill(cloud, as_deployed(cloud)),
            VERIFY: lambda: verify(cloud, as_deployed(cloud)),
            FILL_BOTO3: lambda: backfill(cloud, client),
            VERIFY_BOTO3: lambda: verify(cloud, client),
        }
        found = {}
        for name, go in went.items():
            if name in (FILL, FILL_BOTO3):
                empty(client)
            found[name] = timed(go, items)
        return found


def put(client: Any, items: int) -> None:
    records = (one for event in Load(3 * items).batches() for one in event["Records"])
    images = [one["dynamodb"]["NewImage"] for one in records if one["eventName"] == "INSERT"]
    assert len(images) >= items
    for call in batched(images[:items], PUTS):
        client.batch_write_item(
            RequestItems={orders.name: [{"PutRequest": {"Item": image}} for image in call]}
        )


def empty(client: Any) -> None:
    """Delete all rows of the view."""
    pages = client.get_paginator("scan").paginate(
        TableName=VIEW_TABLE, ProjectionExpression="PK, SK"
    )
    for page in pages:
        for call in batched(page["Items"], PUTS):
            client.batch_write_item(
                RequestItems={VIEW_TABLE: [{"DeleteRequest": {"Key": key}} for key in call]}
            )


def backfill(cloud: LocalCloud, client: Any) -> int:
    clients = Clients(client, cloud.clients.sqs)
    metered = Metered(clients.dynamodb, RateLimiter(), RateLimiter())
    bulk = make_bulk(cloud.registry, cloud.settings, clients, metered)
    outcome = SegmentPool(bulk, bulk.run(BACKFILL, orders.name), Shutdown(), tolerated=0).work(
        SEGMENTS
    )
    assert outcome.finished, outcome.trouble
    return outcome.counts["items"]


def as_deployed(cloud: LocalCloud) -> Any:
    """Return the client of the deployed functions."""
    return DynamoDbHttpClient(direct_client_to(cloud.engine), cloud.engine.dynamodb)


def verify(cloud: LocalCloud, client: Any) -> int:
    settings = cloud.settings
    verifier = make_verifier(cloud.registry, settings, client)
    place = verifier.reader.place(settings.view_table, deadline=verifier.deadline())
    scope = Scope(settings.view_table, settings.model, segments=SEGMENTS, place=place)
    run = verifier.begin(scope)
    verifier.verify(run)
    assert run.finished
    assert not run.total["left"]
    return run.counts[orders.name]["items"]


def timed(go: Callable[[], int], items: int) -> dict[str, float]:
    """Process all items once, and return the seconds and processor seconds per 1,000."""
    seconds, processor = perf_counter(), process_time()
    assert go() == items
    passed, took = perf_counter() - seconds, process_time() - processor
    return {"seconds": passed * 1000 / items, "processor": took * 1000 / items}


def lines(found: dict[str, Any]) -> list[str]:
    """Return the lines of the report."""
    head = ["whole tables, on DynamoDB Local", "items/s", "CPU s/1,000", "busy", "times the scan"]
    rows = [
        [
            WENT[name],
            number(1000 / one["seconds"]),
            number(one["processor"], 3),
            f"{100 * one['processor'] / one['seconds']:.0f} %",
            number(one["seconds"] / found[SCAN]["seconds"], 1),
        ]
        for name, one in found.items()
    ]
    return table(head, rows)
