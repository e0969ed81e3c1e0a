"""DynamoDB tables, as both the sources and the view have them."""

from collections.abc import Sequence
from typing import Final, cast

from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from adminview.cdk.options.deployment import DeploymentOptions
from adminview.model import Attribute, Index

TYPES: Final = {
    "S": dynamodb.AttributeType.STRING,
    "N": dynamodb.AttributeType.NUMBER,
    "B": dynamodb.AttributeType.BINARY,
}


class Table(dynamodb.TableV2):
    """A table on demand, encrypted with a key of the account, protected as its stage says."""

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
    ) -> None:
        stage = options.stage
        partition, *sort = [_attribute(one) for one in key]
        super().__init__(
            scope,
            id_,
            table_name=name,
            partition_key=partition,
            sort_key=sort[0] if sort else None,
            billing=dynamodb.Billing.on_demand(),
            encryption=dynamodb.TableEncryptionV2.aws_managed_key(),
            dynamo_stream=stream,
            global_secondary_indexes=[_index(one) for one in indexes if not one.local],
            # Made with the table, for good.
            local_secondary_indexes=[_local_index(one) for one in indexes if one.local] or None,
            deletion_protection=stage.protect,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=stage.protect
            ),
            removal_policy=stage.removal_policy,
        )
        if customer_key := options.customer_key:
            # Here, for TableV2 takes a key only in a stack that is bound to one region.
            made = cast("dynamodb.CfnGlobalTable", self.node.default_child)
            path = "Replicas.0.SSESpecification.KMSMasterKeyId"
            made.add_property_override(path, customer_key.arn)


def _attribute(attribute: Attribute) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=attribute.name, type=TYPES[attribute.type])


def _index(index: Index) -> dynamodb.GlobalSecondaryIndexPropsV2:
    return dynamodb.GlobalSecondaryIndexPropsV2(
        index_name=index.name,
        partition_keys=[_attribute(one) for one in index.stored_partition],
        sort_keys=[_attribute(one) for one in index.sort] or None,
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
