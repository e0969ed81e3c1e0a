"""A table with a stream for each source that we own; existing tables are imported."""

from typing import Any

from aws_cdk import Stack
from constructs import Construct

from adminview.cdk import DeploymentOptions, SourceTables


class SourcesStack(Stack):
    """Source tables. Holds data: retained when the stack is deleted, except in dev."""

    def __init__(
        self, scope: Construct, id_: str, *, options: DeploymentOptions, **kwargs: Any
    ) -> None:
        super().__init__(scope, id_, **kwargs)
        self.sources = SourceTables(self, "Default", options=options)
