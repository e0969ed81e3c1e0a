"""The read API: an HTTP API, closed by default."""

from typing import Any

from aws_cdk import Stack
from constructs import Construct

from adminview.cdk import AdminViewTable, DeploymentOptions, QueryApi, SyncPipeline


class ApiStack(Stack):
    """Queries in over HTTPS, rows out."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        options: DeploymentOptions,
        view: AdminViewTable,
        sync: SyncPipeline,
        **kwargs: Any,
    ) -> None:
        super().__init__(scope, id_, **kwargs)
        self.api = QueryApi(self, "Default", options=options, view=view, sync=sync)
