"""AdminViewTable and its sparse indexes."""

from aws_cdk import CfnOutput
from constructs import Construct

from adminview.cdk.constructs.table import Table
from adminview.cdk.options.deployment import DeploymentOptions
from adminview.model.attribute import PK, SK


class AdminViewTable(Construct):
    """The table that the admin panel queries."""

    def __init__(self, scope: Construct, id_: str, *, options: DeploymentOptions) -> None:
        super().__init__(scope, id_)
        self.table = Table(
            self,
            "AdminViewTable",
            name=options.view_table,
            key=(PK, SK),
            options=options,
            indexes=options.phase.indexes(options.views),
        )
        CfnOutput(self, "ViewTableName", value=self.table.table_name)
