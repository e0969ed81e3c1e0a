"""The sync function, its subscriptions and its dead-letter queue."""

from collections.abc import Sequence
from json import dumps
from typing import Final

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
from adminview.cdk.constructs.python_function import PythonFunction, add_metadata
from adminview.cdk.constructs.source_tables import SourceStream
from adminview.cdk.constructs.stream_subscription import StreamSubscription, may_follow
from adminview.cdk.constructs.suppress_nag import suppress_nag
from adminview.cdk.constructs.table import AdminViewTable
from adminview.cdk.options.deployment import DeploymentOptions
from adminview.model.delivery import FIRST_TRY_SECONDS, HIDDEN_SECONDS, Delivery

# A batch has at most 6 MB, about ten times that as Python objects, next to its rows. Processor time
# is in proportion to memory.
MEMORY_MB: Final = 512
TIMEOUT_SECONDS: Final = 120  # throttled writes are retried for most of it
LETTER_DAYS: Final = 14  # the longest that SQS keeps a message
LAST_QUEUE: Final = (
    "It is a dead-letter queue: the on-failure destination of every event source mapping, which "
    "the rule does not check. A dead letter that fails again is sent again, to the same queue."
)


class SyncPipeline(Construct):
    """Stream records in, view rows out, dead letters for records that could not be synced."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        options: DeploymentOptions,
        view: AdminViewTable,
        streams: Sequence[SourceStream],
    ) -> None:
        super().__init__(scope, id_)
        self.dead_letters = self._queue(options)
        self.settings = Settings(
            view_table=options.view_table,
            dead_letter_queue_url=self.dead_letters.queue_url,
            sources={stream.source.name: stream.name for stream in streams},
            model=options.views.fingerprint,
            tracing=options.stage.tracing,
            service=options.name,
        )
        self.function = PythonFunction(
            self,
            "Sync",
            handler="sync",
            description="Keeps AdminViewTable in sync with its source tables",
            memory_mb=MEMORY_MB,
            timeout=Duration.seconds(TIMEOUT_SECONDS),
            settings=self.settings,
            statements=_statements(view.table, self.dead_letters, streams),
            options=options,
            reserved_concurrency=options.stage.sync_concurrency,
        ).function
        # Read by `adminview plan`.
        add_metadata(self.function, MODEL_METADATA, dumps(options.views.description()))
        self.mappings = {
            stream.source.name: StreamSubscription(
                self,
                f"Follow{stream.source.name}",
                stream_arn=stream.stream_arn,
                function=self.function,
                queue=self.dead_letters,
                delivery=Delivery(parallelization=options.stage.sync_parallelization),
            ).mapping
            for stream in streams
        }
        CfnOutput(self, "DeadLetterQueueUrl", value=self.dead_letters.queue_url)
        CfnOutput(self, SYNC_FUNCTION_OUTPUT, value=self.function.function_name)
        # Not exported: an export has at most 1024 characters, too few for many sources.
        stack = Stack.of(self)
        CfnOutput(self, SETTINGS_OUTPUT, value=stack.to_json_string(self.settings.to_env()))
        ids = {source: mapping.ref for source, mapping in self.mappings.items()}
        CfnOutput(self, MAPPINGS_OUTPUT, value=stack.to_json_string(ids))

    def _queue(self, options: DeploymentOptions) -> sqs.Queue:
        key = options.key_in(self)
        queue = sqs.Queue(
            self,
            "DeadLetters",
            retention_period=Duration.days(LETTER_DAYS),
            delivery_delay=Duration.seconds(FIRST_TRY_SECONDS),
            visibility_timeout=Duration.seconds(HIDDEN_SECONDS),
            encryption=sqs.QueueEncryption.KMS if key else sqs.QueueEncryption.SQS_MANAGED,
            encryption_master_key=key,
            enforce_ssl=True,
            removal_policy=options.stage.removal_policy,
        )
        suppress_nag(queue, "SQS3", LAST_QUEUE)
        return queue


def _statements(
    view_table: dynamodb.ITableV2, queue: sqs.IQueue, streams: Sequence[SourceStream]
) -> list[iam.PolicyStatement]:
    """Return the sync's permissions. It writes the view without reading it."""
    return [
        iam.PolicyStatement(actions=["dynamodb:BatchWriteItem"], resources=[view_table.table_arn]),
        iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[queue.queue_arn]),
        may_follow(*(stream.stream_arn for stream in streams)),
    ]
