"""The functions that bring the view back in step, or tell that it is not."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.constructs.python_function import PythonFunction
from infra.constructs.repetition import Repetition
from infra.context import Deployment
from infra.sources_stack import FollowedTable
from lambdas.aws.settings import REPLAY_FUNCTION_OUTPUT, VERIFY_FUNCTION_OUTPUT, Settings
from lambdas.model.delivery import NEXT_TRY_SECONDS
from lambdas.model.row import OWNER_INDEX

# Neither holds more than a few pages at once: it is for the processor time, which is in proportion.
MEMORY_MB: Final = 512
# A minute less than a letter stays hidden, or it would come back to a second run while the first
# still works on it.
REPLAY_SECONDS: Final = NEXT_TRY_SECONDS - 60
VERIFY_SECONDS: Final = 900  # all that Lambda gives


class RecoveryStack(Stack):
    """Letters are tried again, and the view is compared with its sources, both by themselves."""

    def __init__(  # noqa: PLR0913 - all are keywords
        self,
        scope: Construct,
        id_: str,
        *,
        deployment: Deployment,
        settings: Settings,
        dead_letters: sqs.IQueue,
        view_table: dynamodb.ITableV2,
        followed: Sequence[FollowedTable],
        **kwargs: Any,
    ) -> None:
        super().__init__(scope, id_, **kwargs)
        stage = deployment.stage
        function = partial(
            PythonFunction,
            self,
            memory_mb=MEMORY_MB,
            environment=settings.to_env(),
            stage=stage,
        )
        self.replay = function(
            "Replay",
            handler="lambdas.replay.handler",
            description="Reconciles what the dead letters name",
            timeout=Duration.seconds(REPLAY_SECONDS),
            statements=_may_replay(view_table, dead_letters, followed),
        ).function
        self.verify = function(
            "Verify",
            handler="lambdas.verify.handler",
            description="Compares AdminViewTable with its source tables, and changes neither",
            timeout=Duration.seconds(VERIFY_SECONDS),
            statements=_may_verify(view_table, followed),
        ).function
        if stage.replay_every is not None:
            Repetition(
                self, "RepeatReplay", function=self.replay, every=stage.replay_every, event={}
            )
        if stage.verify_every is not None:
            sample = {"sample": stage.verify_sample}
            Repetition(
                self, "RepeatVerify", function=self.verify, every=stage.verify_every, event=sample
            )
        CfnOutput(self, REPLAY_FUNCTION_OUTPUT, value=self.replay.function_name)
        CfnOutput(self, VERIFY_FUNCTION_OUTPUT, value=self.verify.function_name)


def _may_replay(
    view_table: dynamodb.ITableV2, queue: sqs.IQueue, followed: Sequence[FollowedTable]
) -> list[iam.PolicyStatement]:
    """List all that a replay may do: it writes row by row, for batches take no conditions."""
    return [
        iam.PolicyStatement(
            actions=[
                "sqs:ChangeMessageVisibility",
                "sqs:DeleteMessage",
                "sqs:ReceiveMessage",
                "sqs:SendMessage",
            ],
            resources=[queue.queue_arn],
        ),
        iam.PolicyStatement(
            actions=["dynamodb:GetItem"], resources=[table.table_arn for table in followed]
        ),
        iam.PolicyStatement(
            actions=["dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:PutItem"],
            resources=[view_table.table_arn],
        ),
        _find_by_owner(view_table),
        # A letter of Lambda's own names a stretch of a shard: its records are read again.
        iam.PolicyStatement(
            actions=["dynamodb:GetRecords", "dynamodb:GetShardIterator"],
            resources=[table.stream_arn for table in followed],
        ),
    ]


def _may_verify(
    view_table: dynamodb.ITableV2, followed: Sequence[FollowedTable]
) -> list[iam.PolicyStatement]:
    """List all that a verification may do: it writes nothing."""
    return [
        iam.PolicyStatement(
            actions=["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Scan"],
            resources=[table.table_arn for table in followed],
        ),
        iam.PolicyStatement(
            actions=["dynamodb:BatchGetItem", "dynamodb:Scan"], resources=[view_table.table_arn]
        ),
        _find_by_owner(view_table),
    ]


def _find_by_owner(view_table: dynamodb.ITableV2) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        actions=["dynamodb:Query"],
        resources=[f"{view_table.table_arn}/index/{OWNER_INDEX.name}"],
    )
