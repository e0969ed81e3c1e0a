"""The totals table, and the function that adds the changes of rows to it."""

from typing import Final

from aws_cdk import CfnOutput, Duration, ReferenceStrength, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from adminview.aws.settings import TOTALS_FUNCTION_OUTPUT, TotalsSettings
from adminview.cdk.constructs.python_function import PythonFunction
from adminview.cdk.constructs.source_tables import stream_of
from adminview.cdk.constructs.stream_subscription import StreamSubscription, may_follow
from adminview.cdk.constructs.table import AdminViewTable, Table
from adminview.cdk.options.deployment import DeploymentOptions
from adminview.model.attribute import PK, SK
from adminview.model.delivery import TOTALS_DELIVERY
from adminview.model.total import EXPIRES, RANKING

# A batch has at most 6 MB, and takes about ten times that as Python objects.
MEMORY_MB: Final = 512
TIMEOUT_SECONDS: Final = 120  # throttled updates are retried for most of it


class Totals(Construct):
    """The totals table, the totals function and its subscription to the stream of the view.

    The function does not need the model: contributions are stored on the rows.
    """

    def __init__(
        self, scope: Construct, id_: str, *, options: DeploymentOptions, view: AdminViewTable
    ) -> None:
        super().__init__(scope, id_)
        self.stream_arn = stream_of(view.table)
        self.table = Table(
            self,
            "TotalsTable",
            name=options.totals_table,
            key=(PK, SK),
            options=options,
            indexes=(RANKING,),
            expires=EXPIRES,
        )
        self.function = PythonFunction(
            self,
            "Totals",
            handler="totals",
            description="Adds the changes of AdminViewTable to its totals",
            memory_mb=MEMORY_MB,
            timeout=Duration.seconds(TIMEOUT_SECONDS),
            settings=TotalsSettings(
                options.totals_table, options.stage.tracing, service=options.name
            ),
            statements=[
                iam.PolicyStatement(
                    actions=["dynamodb:UpdateItem"], resources=[self.table.table_arn]
                ),
                may_follow(self.stream_arn),
            ],
            options=options,
        ).function
        # No queue: a record that is skipped would leave its totals wrong, so Lambda retries it
        # until shortly before the stream drops it.
        self.mapping = StreamSubscription(
            self,
            "FollowView",
            stream_arn=self.stream_arn,
            function=self.function,
            delivery=TOTALS_DELIVERY,
        ).mapping
        CfnOutput(self, "TotalsTableName", value=self.table.table_name)
        CfnOutput(self, TOTALS_FUNCTION_OUTPUT, value=self.function.function_name)

    def precede(self, *writers: Construct) -> None:
        """Deploy the mapping before *writers*: functions that write rows, and their subscriptions.

        A total would miss contributions that are written before the stream is on.
        """
        for writer in writers:
            for child in writer.node.find_all():
                if isinstance(child, lambda_.CfnFunction | lambda_.CfnEventSourceMapping):
                    child.add_resource_dependency(self.mapping)


def may_query_totals(scope: Construct, options: DeploymentOptions) -> list[iam.PolicyStatement]:
    """Return the permissions to query totals and to get them by key; none without totals."""
    if not options.has_totals:
        return []
    table = _table_arn(scope, options)
    return [
        iam.PolicyStatement(
            actions=["dynamodb:Query"], resources=[table, f"{table}/index/{RANKING.name}"]
        ),
        iam.PolicyStatement(actions=["dynamodb:BatchGetItem"], resources=[table]),
    ]


def may_verify_totals(
    scope: Construct, options: DeploymentOptions, *, repair: bool = False
) -> list[iam.PolicyStatement]:
    """Return the permissions to read all totals, and to let unused ones expire if *repair*."""
    if not options.has_totals:
        return []
    actions = ["dynamodb:BatchGetItem", "dynamodb:Scan"]
    return [
        iam.PolicyStatement(
            actions=[*actions, "dynamodb:UpdateItem"] if repair else actions,
            resources=[_table_arn(scope, options)],
        ),
    ]


def totals_stream(view: AdminViewTable, options: DeploymentOptions) -> str | None:
    """Return the ARN of the stream that the totals function follows; None without totals.

    The reference is weak: only the Totals stack may forbid to turn the stream off or replace it.
    """
    if not options.has_totals:
        return None
    return Stack.consume_reference(stream_of(view.table), ReferenceStrength.WEAK)


def may_await_totals(
    scope: Construct, options: DeploymentOptions, stream_arn: str | None
) -> list[iam.PolicyStatement]:
    """Return the permissions to see whether the totals include all rows; none without totals."""
    if stream_arn is None:
        return []
    return [
        iam.PolicyStatement(actions=["dynamodb:DescribeStream"], resources=[stream_arn]),
        iam.PolicyStatement(actions=["dynamodb:Query"], resources=[_table_arn(scope, options)]),
    ]


def _table_arn(scope: Construct, options: DeploymentOptions) -> str:
    """Return the ARN of the totals table from its name.

    An export would block the removal of the table's stack.
    """
    return Stack.of(scope).format_arn(
        service="dynamodb", resource="table", resource_name=options.totals_table
    )
