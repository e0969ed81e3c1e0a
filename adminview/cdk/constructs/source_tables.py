"""The source tables, and the streams that the sync reads."""

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import Stack
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from adminview.cdk.constructs.table import Table
from adminview.cdk.options.deployment import DeploymentOptions
from adminview.model import Source


@dataclass(frozen=True, slots=True)
class SourceStream:
    """A source's table, ours or imported, and its stream."""

    source: Source
    name: str
    table_arn: str
    stream_arn: str


class SourceTables(Construct):
    """A table with a stream for each source that is not imported."""

    def __init__(self, scope: Construct, id_: str, *, options: DeploymentOptions) -> None:
        super().__init__(scope, id_)
        owned = options.owned_sources
        self.tables = {source.name: self._table(source, options) for source in owned}
        self.streams: Mapping[str, SourceStream] = {
            source.name: SourceStream(
                source,
                options.table_of(source),
                # By name: an export for each table's ARN would exceed the outputs of a stack.
                Stack.of(self).format_arn(
                    service="dynamodb", resource="table", resource_name=options.table_of(source)
                ),
                stream_of(self.tables[source.name]),
            )
            for source in owned
        }

    def _table(self, source: Source, options: DeploymentOptions) -> Table:
        return Table(
            self,
            source.name,
            name=options.table_of(source),
            key=source.key,
            options=options,
            stream=dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
        )


def source_streams(
    options: DeploymentOptions, created: Mapping[str, SourceStream]
) -> tuple[SourceStream, ...]:
    """Return the stream of every source in the order of declaration, imported or *created*."""
    imported = {
        name: SourceStream(
            options.views.source(name), table.table_name, table.table_arn, table.stream_arn
        )
        for name, table in options.imported.items()
    }
    streams = {**created, **imported}
    return tuple(streams[source.name] for source in options.views.sources)


def stream_of(table: dynamodb.ITable | dynamodb.ITableV2) -> str:
    """Return the ARN of a table's stream, which must exist."""
    assert table.table_stream_arn, "created with a stream"
    return table.table_stream_arn
