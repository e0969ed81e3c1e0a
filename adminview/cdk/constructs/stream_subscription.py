"""One stream, delivered to one function."""

from aws_cdk import CrossStackReferences, ReferenceStrength
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from adminview.model.delivery import Delivery


class StreamSubscription(Construct):
    """An event source mapping, set as *delivery* says.

    There is no filter: a record that Lambda filters out leaves no trace, and which items a view is
    for is the view's to say. A new mapping begins with the oldest record the stream still has.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        stream_arn: str,
        function: lambda_.IFunction,
        queue: sqs.IQueue,
        delivery: Delivery,
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
            parallelization_factor=delivery.parallelization,
            function_response_types=["ReportBatchItemFailures"],
            bisect_batch_on_function_error=delivery.bisect,
            maximum_retry_attempts=delivery.retries,
            maximum_record_age_in_seconds=delivery.max_age_seconds,
            destination_config=lambda_.CfnEventSourceMapping.DestinationConfigProperty(
                on_failure=lambda_.CfnEventSourceMapping.OnFailureProperty(
                    destination=queue.queue_arn
                )
            ),
        )
        # A mapping goes with its source, and another one comes with another stream. An export would
        # forbid both for as long as another stack has been told of the old one.
        CrossStackReferences.of(self.mapping).produce(ReferenceStrength.WEAK)
