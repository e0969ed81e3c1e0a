"""Replay of dead letters, verification, backfills, sweeps and migrations."""

from collections.abc import Sequence
from typing import Any

from aws_cdk import Stack
from constructs import Construct

from adminview.cdk import AdminViewTable, DeploymentOptions, Recovery, SourceStream, SyncPipeline


class RecoveryStack(Stack):
    """Repair of the view. Holds the progress of bulk work: retained, except in dev."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        options: DeploymentOptions,
        view: AdminViewTable,
        streams: Sequence[SourceStream],
        sync: SyncPipeline,
        **kwargs: Any,
    ) -> None:
        super().__init__(scope, id_, **kwargs)
        self.recovery = Recovery(
            self, "Default", options=options, view=view, streams=streams, sync=sync
        )
