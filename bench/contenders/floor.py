"""The lower bound: plain Python and orjson make AdminView's requests over one bare socket.

It does not sign, check or retry, and waits for each response. It is not usable; it shows how much
of the time Python and JSON themselves take.
"""

import os
import socket
from typing import Any
from urllib.parse import urlsplit

import orjson

from bench.contenders import Event, Handler
from bench.contenders.rows import derive_raw_rows

BATCH_LIMIT = 25
FINGERPRINT = {"S": "0123456789abcdef"}  # as long as a real one


def connect() -> Handler:
    url = urlsplit(os.environ["AWS_ENDPOINT_URL_DYNAMODB"])
    head = (
        f"POST / HTTP/1.1\r\nHost: {url.netloc}\r\nX-Amz-Target: DynamoDB_20120810.BatchWriteItem"
        "\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n\r\n"
    ).encode()
    table = os.environ["ADMINVIEW_TABLE"]

    def handle(event: Event) -> None:
        requests = requests_for(event)
        with socket.create_connection((url.hostname, url.port)) as connection:
            for start in range(0, len(requests), BATCH_LIMIT):
                body = orjson.dumps(
                    {"RequestItems": {table: requests[start : start + BATCH_LIMIT]}}
                )
                connection.sendall(head % len(body) + body)
                response = b""
                while not response.endswith(b'{"UnprocessedItems":{}}'):
                    response += connection.recv(65536)

    return handle


def requests_for(event: Event) -> list[Any]:
    """Return the last write of each row that differs."""
    requests: dict[tuple[str, str], Any] = {}
    for record in event["Records"]:
        change = record["dynamodb"]
        before, after = rows_of_image(change, "OldImage"), rows_of_image(change, "NewImage")
        provenance = {
            "_owner": {"S": f"Orders/{change['Keys']['orderId']['S']}"},
            "_seq": {"S": change["SequenceNumber"]},
            "_at": {"N": str(change["ApproximateCreationDateTime"])},
            "_model": FINGERPRINT,
        }
        for key, row in after.items():
            if before.get(key) != row:
                requests[key] = {"PutRequest": {"Item": {**row, **provenance}}}
        for key, row in before.items():
            if key not in after:
                requests[key] = {"DeleteRequest": {"Key": {"PK": row["PK"], "SK": row["SK"]}}}
    return list(requests.values())


def rows_of_image(change: dict[str, Any], name: str) -> dict[tuple[str, str], Any]:
    """Derive the rows of one image, by their keys."""
    if name not in change:
        return {}
    return {(row["PK"]["S"], row["SK"]["S"]): row for row in derive_raw_rows(change[name])}
