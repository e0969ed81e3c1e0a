"""Counts the rows by which a build sees what the totals include, in place of the function."""

import json
import time
from base64 import b64decode
from threading import Event
from typing import Any

from adminview.local.event_source.shards import Stream
from adminview.model.row import TOTALS, VIEW_TABLE
from adminview.model.total import PROBE, totals_table
from adminview.totals.position import encode_position, position_name
from tests.support.e2e.closed import Closed


def count_probes(closed: Closed, dynamodb: Any, stop: Event) -> None:
    """Count probes until the build has seen them."""
    arn = dynamodb.describe_table(TableName=VIEW_TABLE)["Table"]["LatestStreamArn"]
    stream = Stream(closed.client("dynamodbstreams"), arn)
    while not stop.wait(0.2):
        for shard in stream.shards():
            for record in stream.cursor(shard).read(1000):
                row = json.loads(record.body)["dynamodb"].get("NewImage", {})
                for partition in row.get(TOTALS, {"M": {}})["M"]:
                    if partition.startswith(PROBE):
                        position = encode_position(int(record.sequence), time.time())["B"]
                        item: Any = {"PK": {"S": partition}, "SK": {"S": shard.id}}
                        item[position_name(shard.id)] = {"B": b64decode(position)}
                        dynamodb.put_item(TableName=totals_table(VIEW_TABLE), Item=item)
