"""The subscription of a function to a stream."""

from aws_cdk import CrossStackReferences, ReferenceStrength
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from adminview.model.delivery import Delivery


class StreamSubscription(Construct):
    """An event source mapping with the settings of *delivery*.

    It has no filter: a filtered record leaves no trace, and the function decides what a record is
    for. A new mapping begins with the oldest record of the stream. Without a *queue* for dead
    letters, records that Lambda gives up on are lost.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        stream_arn: str,
        function: lambda_.IFunction,
        delivery: Delivery,
        queue: sqs.IQueue | None = None,
    ) -> None:
        super().__init__(scope, id_)
        # Not EventSourceMapping: with a queue it grants the function more than sending to it.
        self.mapping = lambda_.CfnEventSourceMapping(
            self,
            "Mapping",
            event_source_arn=stream_arn,
            function_name=function.function_name,
            starting_position="TRIM_HORIZON",
            batch_size=delivery.batch_size,
            maximum_batching_window_in_seconds=delivery.window_seconds,
            tumbling_window_in_seconds=delivery.tumbling_seconds or None,
            parallelization_factor=delivery.parallelization,
            function_response_types=["ReportBatchItemFailures"],
            bisect_batch_on_function_error=delivery.bisect,
            maximum_retry_attempts=delivery.retries,
            maximum_record_age_in_seconds=delivery.max_age_seconds,
            destination_config=_on_failure(queue) if queue else None,
            # Alarms and /health need them: only these metrics belong to one mapping.
            metrics_config=lambda_.CfnEventSourceMapping.MetricsConfigProperty(
                metrics=["EventCount"]
            ),
        )
        # A mapping is removed with its source, and replaced with its stream. An export would forbid
        # both while another stack imports the old id.
        CrossStackReferences.of(self.mapping).produce(ReferenceStrength.WEAK)


def may_follow(*stream_arns: str) -> iam.PolicyStatement:
    """Return the permission to read streams, as Lambda requires it before it subscribes one.

    ListStreams supports no resources: "*" would list all streams of the account. On the streams, as
    in the policy for Lambda in the DynamoDB guide, it satisfies the mapping and lists nothing.
    """
    return iam.PolicyStatement(
        actions=[
            "dynamodb:DescribeStream",
            "dynamodb:GetRecords",
            "dynamodb:GetShardIterator",
            "dynamodb:ListStreams",
        ],
        resources=[*stream_arns],
    )


def _on_failure(queue: sqs.IQueue) -> lambda_.CfnEventSourceMapping.DestinationConfigProperty:
    return lambda_.CfnEventSourceMapping.DestinationConfigProperty(
        on_failure=lambda_.CfnEventSourceMapping.OnFailureProperty(destination=queue.queue_arn)
    )
