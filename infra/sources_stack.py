"""The tables whose streams are followed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import CfnOutput, Fn, Stack, Token
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from adminview.cdk.constructs.table import Table
from adminview.cdk.options import Deployment
from adminview.model import Source


@dataclass(frozen=True, slots=True)
class SourceStream:
    """The table behind a source, ours or imported, and its stream."""

    source: Source
    name: str
    table_arn: str
    stream_arn: str
    # As metrics name the stream; without a reference that would hold the table's stack up.
    stream_label: str


class SourcesStack(Stack):
    """A table with a stream for each source we own. Holds data: kept when the stack is deleted."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        owned: Sequence[Source],
        deployment: Deployment,
        **kwargs: Any,
    ) -> None:
        super().__init__(scope, id_, **kwargs)
        self.followed = {source.name: self._create(source, deployment) for source in owned}

    def _create(self, source: Source, deployment: Deployment) -> SourceStream:
        name = deployment.table_of(source)
        table = Table(
            self,
            source.name,
            name=name,
            key=source.key,
            deployment=deployment,
            stream=dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
        )
        assert table.table_stream_arn, "made with a stream in the line above"
        label = CfnOutput(table, "StreamLabel", value=label_of(table.table_stream_arn))
        told = Token.as_string(
            Fn.get_stack_output(self.stack_name, str(self.resolve(label.logical_id)))
        )
        return SourceStream(source, name, table.table_arn, table.table_stream_arn, told)


def label_of(stream_arn: str) -> str:
    """Take from a stream's ARN what metrics name it by."""
    return Fn.select(1, Fn.split("/stream/", stream_arn))
