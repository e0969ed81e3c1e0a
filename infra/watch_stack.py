"""Alarms, the topic that they publish to, and a dashboard."""

from typing import Any

from aws_cdk import CrossStackReferences, ReferenceStrength, Stack
from constructs import Construct

from adminview.cdk import (
    DeploymentOptions,
    Monitoring,
    QueryApi,
    Recovery,
    SyncPipeline,
    Totals,
)


class WatchStack(Stack):
    """Monitoring of the other stacks. It does not block their removal."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        options: DeploymentOptions,
        sync: SyncPipeline,
        recovery: Recovery,
        api: QueryApi,
        totals: Totals | None,
        **kwargs: Any,
    ) -> None:
        super().__init__(scope, id_, **kwargs)
        # With an export, a function or source could not be removed while it has an alarm.
        CrossStackReferences.of(self).consume(ReferenceStrength.WEAK)
        self.monitoring = Monitoring(
            self,
            "Default",
            options=options,
            sync=sync,
            recovery=recovery,
            api=api,
            totals=totals,
        )
