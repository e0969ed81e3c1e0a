"""The sync function as sketched in pseudo-code: the rows of each record, 25 per call, one retry.

It has rows of its own: a copy of the order under its user, a second copy under its status, and the
purchases. An order has a kilobyte, so a copy costs two write units. The sketch also mentions a
summary instead: `summary` derives such rows, and the report includes their write units. It does not
fold changes: DynamoDB would refuse a call that writes one row twice, but the stub accepts it.
"""

import logging
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import boto3

from bench.contenders import Event, Handler
from bench.contenders.rows import ORDER_ATTRIBUTES, Row, derive_raw_purchases, key_of

logger = logging.getLogger(__name__)


def connect() -> Handler:
    client: Any = boto3.client("dynamodb")
    table = os.environ["ADMINVIEW_TABLE"]

    def handle(event: Event) -> None:
        write_requests: list[Any] = []
        for record in event["Records"]:
            try:
                write_requests.extend(process_record(record))
            except Exception:
                logger.exception("Failed to process record")
        batch_write_items(client, table, write_requests)

    return handle


def process_record(record: dict[str, Any], *, summary: bool = False) -> list[Any]:
    """Return the requests of a record, by its table."""
    source_table = record["eventSourceARN"].split("/")[1]
    new_image = record["dynamodb"].get("NewImage", None)
    old_image = record["dynamodb"].get("OldImage", None)
    if "Orders" in source_table:
        rows = partial(derive_rows, summary=summary)
        return transform_order_event(record["eventName"], new_image, old_image, rows)
    logger.warning("No transformer found for a source table")
    return []


def derive_rows(image: Any, *, summary: bool = False) -> Iterator[Row]:
    """Yield copies of an order under its user and its status, and its purchases."""
    order = image["orderId"]["S"]
    data = {"M": {name: image[name] for name in ORDER_ATTRIBUTES} if summary else image}
    yield {
        "PK": {"S": f"USER#{image['userId']['S']}"},
        "SK": {"S": f"ORDER#{order}"},
        "data": data,
    }
    yield {
        "PK": {"S": f"ORDER#STATUS#{image['status']['S']}"},
        "SK": {"S": order},
        "data": data,
    }
    yield from derive_raw_purchases(image)


def transform_order_event(
    event_name: str, new_image: Any, old_image: Any, rows: Callable[[Any], Iterator[Row]]
) -> list[Any]:
    """Return the requests of one change of an order."""
    if event_name == "REMOVE":
        return [{"DeleteRequest": {"Key": key_of(row)}} for row in rows(old_image)]
    write_requests: list[Any] = [{"PutRequest": {"Item": row}} for row in rows(new_image)]
    if event_name == "MODIFY" and old_image["status"]["S"] != new_image["status"]["S"]:
        _, by_status, *_ = rows(old_image)
        write_requests.append({"DeleteRequest": {"Key": key_of(by_status)}})
    return write_requests


def batch_write_items(client: Any, table: str, requests: list[Any]) -> None:
    """Send 25 requests at a time, and retry unprocessed ones once."""
    batched = [requests[i : i + 25] for i in range(0, len(requests), 25)]
    for chunk in batched:
        response = client.batch_write_item(RequestItems={table: chunk})
        unprocessed_items = response.get("UnprocessedItems", {})
        if unprocessed_items:
            logger.warning("Found unprocessed items. Retrying...")
            client.batch_write_item(RequestItems=unprocessed_items)
