"""AdminViewTable and its sparse indexes."""

from typing import Any

from aws_cdk import Stack
from constructs import Construct

from adminview.cdk import AdminViewTable, DeploymentOptions


class ViewStack(Stack):
    """The view table. Holds data: retained when the stack is deleted, except in dev."""

    def __init__(
        self, scope: Construct, id_: str, *, options: DeploymentOptions, **kwargs: Any
    ) -> None:
        super().__init__(scope, id_, **kwargs)
        self.view = AdminViewTable(self, "Default", options=options)
