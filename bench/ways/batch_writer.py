"""boto3's `batch_writer`, with boto3's deserialiser for the images."""

import os

import boto3
from boto3.dynamodb.types import TypeDeserializer

from bench.ways import Event, Handle
from bench.ways.rows import key_of, rows_of


def connect() -> Handle:
    table = boto3.resource("dynamodb").Table(os.environ["ADMINVIEW_TABLE"])
    deserialize = TypeDeserializer().deserialize

    def handle(event: Event) -> None:
        # Without it, a call with two writes of one row is refused.
        with table.batch_writer(overwrite_by_pkeys=["PK", "SK"]) as batch:
            for record in event["Records"]:
                gone = record["eventName"] == "REMOVE"
                image = record["dynamodb"]["OldImage" if gone else "NewImage"]
                order = {name: deserialize(value) for name, value in image.items()}
                for row in rows_of(order):
                    if gone:
                        batch.delete_item(Key=key_of(row))
                    else:
                        batch.put_item(Item=row)

    return handle
