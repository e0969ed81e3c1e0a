"""DynamoDB tables, and AdminViewTable with its sparse indexes."""

from collections.abc import Sequence
from typing import Final, cast

from aws_cdk import Annotations, CfnOutput, RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from adminview.cdk.bundle import view_requirements
from adminview.cdk.index_changes import note_index_changes
from adminview.cdk.options.deployment import DeploymentOptions
from adminview.checks.finding import Level
from adminview.checks.static import static_findings
from adminview.model import Attribute, Index
from adminview.model.attribute import PK, SK
from adminview.model.errors import DeclarationError

TYPES: Final = {
    "S": dynamodb.AttributeType.STRING,
    "N": dynamodb.AttributeType.NUMBER,
    "B": dynamodb.AttributeType.BINARY,
}


class Table(dynamodb.TableV2):
    """An on-demand table, encrypted with a key of the account, protected as the stage says."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        name: str,
        key: Sequence[Attribute],
        options: DeploymentOptions,
        stream: dynamodb.StreamViewType | None = None,
        indexes: Sequence[Index] = (),
        expires: str | None = None,  # the attribute by which DynamoDB deletes items
    ) -> None:
        stage = options.stage
        partition, *sort = [_attribute(attribute) for attribute in key]
        super().__init__(
            scope,
            id_,
            table_name=name,
            partition_key=partition,
            sort_key=sort[0] if sort else None,
            billing=dynamodb.Billing.on_demand(),
            encryption=dynamodb.TableEncryptionV2.aws_managed_key(),
            dynamo_stream=stream,
            time_to_live_attribute=expires,
            global_secondary_indexes=[_index(index) for index in indexes if not index.local],
            local_secondary_indexes=[_local_index(index) for index in indexes if index.local]
            or None,
            deletion_protection=stage.protect,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=stage.retain
            ),
            # A rollback cannot delete a protected table, and would fail.
            removal_policy=RemovalPolicy.RETAIN if stage.protect else stage.removal_policy,
        )
        if customer_key := options.customer_key:
            # TableV2 accepts a key only in a stack that is bound to one region.
            resource = cast("dynamodb.CfnGlobalTable", self.node.default_child)
            path = "Replicas.0.SSESpecification.KMSMasterKeyId"
            resource.add_property_override(path, customer_key.arn)


class AdminViewTable(Construct):
    """The table that the admin panel queries.

    Raises a DeclarationError if the view files have errors that `adminview check` finds.
    """

    def __init__(self, scope: Construct, id_: str, *, options: DeploymentOptions) -> None:
        super().__init__(scope, id_)
        report_findings(self, options)
        note_index_changes(self, options)
        self.table = Table(
            self,
            "AdminViewTable",
            name=options.view_table,
            key=(PK, SK),
            options=options,
            # The totals function follows it.
            stream=dynamodb.StreamViewType.NEW_AND_OLD_IMAGES if options.has_totals else None,
            indexes=options.phase.indexes(options.views),
        )
        CfnOutput(self, "ViewTableName", value=self.table.table_name)


def _attribute(attribute: Attribute) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=attribute.name, type=TYPES[attribute.type])


def _index(index: Index) -> dynamodb.GlobalSecondaryIndexPropsV2:
    return dynamodb.GlobalSecondaryIndexPropsV2(
        index_name=index.name,
        partition_keys=[_attribute(attribute) for attribute in index.stored_partition],
        sort_keys=[_attribute(attribute) for attribute in index.sort] or None,
        projection_type=dynamodb.ProjectionType[index.projection],
        non_key_attributes=list(index.include) or None,
    )


def _local_index(index: Index) -> dynamodb.LocalSecondaryIndexProps:
    return dynamodb.LocalSecondaryIndexProps(
        index_name=index.name,
        sort_key=_attribute(index.sort[0]),
        projection_type=dynamodb.ProjectionType[index.projection],
        non_key_attributes=list(index.include) or None,
    )


def report_findings(scope: Construct, options: DeploymentOptions) -> None:
    """Raise a DeclarationError that lists the errors; add each warning to *scope*."""
    findings = static_findings(options.views, view_requirements(options.handlers))
    errors = [f"  {finding}" for finding in findings if finding.level is Level.ERROR]
    if errors:
        msg = "\n".join(["the view files have errors:", *errors])
        raise DeclarationError(msg)
    for finding in findings:
        id_ = f"adminview:{finding.rule}:{finding.name}"
        Annotations.of(scope).add_warning_v2(id_, f"{finding.place}: {finding.message}")
