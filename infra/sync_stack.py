"""The sync function, its subscriptions and its dead-letter queue."""

from collections.abc import Sequence
from json import dumps
from typing import Any, Final

from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from adminview.aws.settings import (
    MAPPINGS_OUTPUT,
    MODEL_METADATA,
    SETTINGS_OUTPUT,
    SYNC_FUNCTION_OUTPUT,
    Settings,
)
from adminview.cdk.constructs.python_function import PythonFunction
from adminview.cdk.constructs.stream_subscription import StreamSubscription
from adminview.cdk.constructs.suppress_nag import acknowledge
from adminview.cdk.options import Deployment
from adminview.model import Registry
from adminview.model.delivery import FIRST_TRY_SECONDS, HIDDEN_SECONDS, Delivery
from infra.sources_stack import SourceStream

# A batch of 6 MB (all that Lambda hands over at once) is about ten times that as Python objects,
# and is held next to its rows; processor time comes in proportion to memory.
MEMORY_MB: Final = 512
TIMEOUT_SECONDS: Final = 120  # throttled writes are retried in place for most of it
LETTER_DAYS: Final = 14  # as long as SQS keeps a message
LAST_QUEUE: Final = (
    "It is a dead-letter queue: the on-failure destination of every event source mapping, where "
    "the rule does not look. A letter that fails again is written anew, and needs no next queue."
)


class SyncStack(Stack):
    """Stream records in, view rows out, letters for what could not be synced."""

    def __init__(  # noqa: PLR0913 - all are keywords
        self,
        scope: Construct,
        id_: str,
        *,
        registry: Registry,
        deployment: Deployment,
        view_table: dynamodb.ITableV2,
        followed: Sequence[SourceStream],
        delivery: Delivery | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(scope, id_, **kwargs)
        # What is deployed, for whoever plans a change of it.
        self.template_options.metadata = {MODEL_METADATA: dumps(registry.description())}
        stage = deployment.stage
        self.dead_letters = self._queue(deployment)
        self.settings = Settings(
            view_table=deployment.view_table,
            dead_letter_queue_url=self.dead_letters.queue_url,
            sources={table.source.name: table.name for table in followed},
            model=registry.fingerprint,
            tracing=stage.tracing,
            service=deployment.name,
        )
        self.sync = PythonFunction(
            self,
            "Sync",
            handler="lambdas.sync.handler",
            description="Keeps AdminViewTable in step with its source tables",
            memory_mb=MEMORY_MB,
            timeout=Duration.seconds(TIMEOUT_SECONDS),
            environment=self.settings.to_env(),
            statements=_statements(view_table, self.dead_letters, followed),
            deployment=deployment,
            reserved_concurrency=stage.sync_concurrency,
        ).function
        self.mappings = {
            table.source.name: StreamSubscription(
                self,
                f"Follow{table.source.name}",
                stream_arn=table.stream_arn,
                function=self.sync,
                queue=self.dead_letters,
                delivery=delivery or Delivery(),
            ).mapping
            for table in followed
        }
        CfnOutput(self, "DeadLetterQueueUrl", value=self.dead_letters.queue_url)
        CfnOutput(self, SYNC_FUNCTION_OUTPUT, value=self.sync.function_name)
        # Not exported: an export ends at 1024 characters, and the sources may be many.
        CfnOutput(self, SETTINGS_OUTPUT, value=self.to_json_string(self.settings.to_env()))
        ids = {source: mapping.ref for source, mapping in self.mappings.items()}
        CfnOutput(self, MAPPINGS_OUTPUT, value=self.to_json_string(ids))

    def _queue(self, deployment: Deployment) -> sqs.Queue:
        key = deployment.key_in(self)
        queue = sqs.Queue(
            self,
            "DeadLetters",
            retention_period=Duration.days(LETTER_DAYS),
            delivery_delay=Duration.seconds(FIRST_TRY_SECONDS),
            visibility_timeout=Duration.seconds(HIDDEN_SECONDS),
            encryption=sqs.QueueEncryption.KMS if key else sqs.QueueEncryption.SQS_MANAGED,
            encryption_master_key=key,
            enforce_ssl=True,
            removal_policy=deployment.stage.removal_policy,
        )
        acknowledge(queue, "SQS3", LAST_QUEUE)
        return queue


def _statements(
    view_table: dynamodb.ITableV2, queue: sqs.IQueue, followed: Sequence[SourceStream]
) -> list[iam.PolicyStatement]:
    """List all that the sync may do: it writes the view without reading it."""
    return [
        iam.PolicyStatement(actions=["dynamodb:BatchWriteItem"], resources=[view_table.table_arn]),
        iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[queue.queue_arn]),
        # Lambda wants all four before it subscribes a stream. ListStreams takes no resource of its
        # own, so "*" would list the streams of the whole account; on the streams themselves, as
        # in the DynamoDB guide's policy for Lambda, it is enough for the mapping and opens nothing.
        iam.PolicyStatement(
            actions=[
                "dynamodb:DescribeStream",
                "dynamodb:GetRecords",
                "dynamodb:GetShardIterator",
                "dynamodb:ListStreams",
            ],
            resources=[table.stream_arn for table in followed],
        ),
    ]
