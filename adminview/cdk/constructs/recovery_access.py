"""The permissions of the functions of `Recovery`."""

from collections.abc import Mapping, Sequence

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from adminview.cdk.constructs.source_tables import SourceStream
from adminview.cdk.options.deployment import DeploymentOptions
from adminview.model.readiness import READY, progress_table
from adminview.model.row import OWNER_INDEX


def may_replay(
    view_table: dynamodb.ITableV2, queue: sqs.IQueue, streams: Sequence[SourceStream]
) -> list[iam.PolicyStatement]:
    """Return a replay's permissions. It writes row by row: BatchWriteItem has no conditions."""
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
        iam.PolicyStatement(actions=["dynamodb:GetItem"], resources=_tables(streams)),
        iam.PolicyStatement(
            actions=["dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:PutItem"],
            resources=[view_table.table_arn],
        ),
        _find_by_owner(view_table),
        # Lambda's own dead letters contain no records, only their range in a shard.
        iam.PolicyStatement(
            actions=["dynamodb:GetRecords", "dynamodb:GetShardIterator"],
            resources=[stream.stream_arn for stream in streams],
        ),
    ]


def may_verify(
    view_table: dynamodb.ITableV2, streams: Sequence[SourceStream], progress: dynamodb.ITableV2
) -> list[iam.PolicyStatement]:
    """Return the scheduled verification's permissions. It writes nothing but its progress."""
    return [
        iam.PolicyStatement(
            actions=["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Scan"],
            resources=_tables(streams),
        ),
        iam.PolicyStatement(
            actions=["dynamodb:BatchGetItem", "dynamodb:Scan"], resources=[view_table.table_arn]
        ),
        _find_by_owner(view_table),
        _keep_progress(progress),
    ]


def may_backfill(
    view_table: dynamodb.ITableV2,
    queue: sqs.IQueue,
    streams: Sequence[SourceStream],
    mappings: Mapping[str, lambda_.CfnEventSourceMapping],
    progress: dynamodb.ITableV2,
) -> list[iam.PolicyStatement]:
    """Return the permissions of backfill, sweep and `verify --deployed`.

    They write the view, never a source.
    """
    return [
        iam.PolicyStatement(
            actions=["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Scan"],
            resources=_tables(streams),
        ),
        iam.PolicyStatement(
            actions=[
                "dynamodb:BatchGetItem",
                "dynamodb:BatchWriteItem",
                "dynamodb:DeleteItem",
                "dynamodb:PutItem",
                "dynamodb:Scan",
            ],
            resources=[view_table.table_arn],
        ),
        _find_by_owner(view_table),
        iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[queue.queue_arn]),
        iam.PolicyStatement(
            actions=["lambda:GetEventSourceMapping"],
            resources=[_arn_of(mapping, progress) for mapping in mappings.values()],
        ),
        _keep_progress(progress),
    ]


def may_build(machine: sfn.IStateMachine, progress: dynamodb.ITableV2) -> list[iam.PolicyStatement]:
    """Return the permissions to record the deployed model and to start its build."""
    return [
        iam.PolicyStatement(
            actions=["states:StartExecution"], resources=[machine.state_machine_arn]
        ),
        iam.PolicyStatement(
            actions=["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"],
            resources=[progress.table_arn],
        ),
    ]


def may_read_readiness(scope: Construct, options: DeploymentOptions) -> iam.PolicyStatement:
    """Return the permission to read which access patterns are ready.

    The rest of the progress table contains keys of items. The table is named, not imported: an
    export would tie the API to the stack that has it.
    """
    table = Stack.of(scope).format_arn(
        service="dynamodb",
        resource="table",
        resource_name=progress_table(options.view_table),
    )
    return iam.PolicyStatement(
        actions=["dynamodb:BatchGetItem"],
        resources=[table],
        conditions={"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [READY]}},
    )


def may_migrate(
    migrated: Sequence[SourceStream], progress: dynamodb.ITableV2
) -> list[iam.PolicyStatement]:
    """Return a migration's permissions. No other function writes to a source."""
    return [
        iam.PolicyStatement(
            actions=["dynamodb:GetItem", "dynamodb:Scan", "dynamodb:UpdateItem"],
            resources=_tables(migrated),
        ),
        _keep_progress(progress),
    ]


def _tables(streams: Sequence[SourceStream]) -> list[str]:
    return [stream.table_arn for stream in streams]


def _find_by_owner(view_table: dynamodb.ITableV2) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        actions=["dynamodb:Query"],
        resources=[f"{view_table.table_arn}/index/{OWNER_INDEX.name}"],
    )


def _keep_progress(progress: dynamodb.ITableV2) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        actions=["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"],
        resources=[progress.table_arn],
    )


def _arn_of(mapping: lambda_.CfnEventSourceMapping, near: dynamodb.ITableV2) -> str:
    """Return the ARN of a mapping, which CloudFormation knows only by its id."""
    return Stack.of(near).format_arn(
        service="lambda",
        resource="event-source-mapping",
        resource_name=mapping.ref,
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )
