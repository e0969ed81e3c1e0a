"""The sync function, its subscriptions and its dead-letter queue."""

from collections.abc import Sequence
from typing import Any

from aws_cdk import Stack
from constructs import Construct

from adminview.cdk import AdminViewTable, DeploymentOptions, SourceStream, SyncPipeline


class SyncStack(Stack):
    """Stream records in, view rows out, dead letters for records that could not be synced."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        options: DeploymentOptions,
        view: AdminViewTable,
        streams: Sequence[SourceStream],
        **kwargs: Any,
    ) -> None:
        super().__init__(scope, id_, **kwargs)
        self.sync = SyncPipeline(self, "Default", options=options, view=view, streams=streams)
