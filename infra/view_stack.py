"""AdminViewTable and its sparse indexes."""

from typing import Any

from aws_cdk import CfnOutput, Stack
from constructs import Construct

from adminview.cdk.constructs.table import Table
from adminview.cdk.options import Deployment
from adminview.model import Registry
from adminview.model.attribute import PK, SK


class ViewStack(Stack):
    """What the admin reads. Holds data: kept when the stack is deleted, outside dev."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        registry: Registry,
        deployment: Deployment,
        **kwargs: Any,
    ) -> None:
        super().__init__(scope, id_, **kwargs)
        self.table = Table(
            self,
            "AdminViewTable",
            name=deployment.view_table,
            key=(PK, SK),
            deployment=deployment,
            indexes=deployment.wave.indexes(registry),
        )
        CfnOutput(self, "ViewTableName", value=self.table.table_name)
