"""The baseline: Powertools' BatchProcessor with its data classes, and one call per row.

Logger, Tracer and Metrics are used as in Powertools' documentation. Outside of Lambda the Tracer is
loaded and does nothing, so its cost per record is not measured.
"""

import os

import boto3
from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.data_classes.dynamo_db_stream_event import (
    DynamoDBRecord,
    DynamoDBRecordEventName,
)
from aws_lambda_powertools.utilities.typing import LambdaContext

from bench.contenders import Event, Handler
from bench.contenders.lambda_context import BenchContext
from bench.contenders.rows import derive_rows, key_of


def connect(*, traced: bool = True) -> Handler:
    table = boto3.resource("dynamodb").Table(os.environ["ADMINVIEW_TABLE"])
    processor = BatchProcessor(event_type=EventType.DynamoDBStreams)
    tracer = Tracer() if traced else None
    logger, metrics = Logger(), Metrics()

    def record_handler(record: DynamoDBRecord) -> None:
        assert record.dynamodb
        if record.event_name == DynamoDBRecordEventName.REMOVE:
            for row in derive_rows(record.dynamodb.old_image or {}):
                table.delete_item(Key=key_of(row))
        else:
            for row in derive_rows(record.dynamodb.new_image or {}):
                table.put_item(Item=row)

    @logger.inject_lambda_context
    @metrics.log_metrics
    def handler(event: Event, context: LambdaContext) -> PartialItemFailureResponse:
        metrics.add_metric("Records", MetricUnit.Count, len(event["Records"]))
        return process_partial_response(
            event=event, record_handler=record_handler, processor=processor, context=context
        )

    if tracer:
        record_handler = tracer.capture_method(record_handler)
        handler = tracer.capture_lambda_handler(handler)

    def handle(event: Event) -> None:
        assert handler(event, BenchContext()) == {"batchItemFailures": []}

    return handle
