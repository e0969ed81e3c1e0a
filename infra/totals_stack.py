"""The totals table and the totals function."""

from typing import Any

from aws_cdk import Stack
from constructs import Construct

from adminview.cdk import AdminViewTable, DeploymentOptions, Totals


class TotalsStack(Stack):
    """Changes of rows in, totals out. Holds data: retained, except in dev."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        options: DeploymentOptions,
        view: AdminViewTable,
        **kwargs: Any,
    ) -> None:
        super().__init__(scope, id_, **kwargs)
        self.totals = Totals(self, "Default", options=options, view=view)
