"""boto3's `batch_writer`, with boto3's deserialiser for the images."""

import os

import boto3
from boto3.dynamodb.types import TypeDeserializer

from bench.contenders import Event, Handler
from bench.contenders.rows import derive_rows, key_of


def connect() -> Handler:
    table = boto3.resource("dynamodb").Table(os.environ["ADMINVIEW_TABLE"])
    deserialize = TypeDeserializer().deserialize

    def handle(event: Event) -> None:
        # DynamoDB refuses a call that writes one row twice, so the last write replaces the others.
        with table.batch_writer(overwrite_by_pkeys=["PK", "SK"]) as batch:
            for record in event["Records"]:
                removed = record["eventName"] == "REMOVE"
                image = record["dynamodb"]["OldImage" if removed else "NewImage"]
                order = {name: deserialize(value) for name, value in image.items()}
                for row in derive_rows(order):
                    if removed:
                        batch.delete_item(Key=key_of(row))
                    else:
                        batch.put_item(Item=row)

    return handle
