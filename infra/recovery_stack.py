"""The functions that bring the view back in step, or tell that it is not."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from adminview.aws.settings import (
    BACKFILL_MACHINE_OUTPUT,
    MAPPINGS,
    MIGRATE_MACHINE_OUTPUT,
    REPLAY_FUNCTION_OUTPUT,
    VERIFY_FUNCTION_OUTPUT,
    Settings,
)
from adminview.bulk.lease_table import progress_table
from adminview.cdk.constructs.python_function import PythonFunction
from adminview.cdk.constructs.scheduled_invocation import ScheduledInvocation
from adminview.cdk.constructs.segment_machine import SegmentMachine
from adminview.cdk.constructs.table import Table
from adminview.cdk.options import Deployment
from adminview.cdk.recovery_access import may_backfill, may_migrate, may_replay, may_verify
from adminview.model.attribute import PK, SK
from adminview.model.delivery import REPLAY_SECONDS
from infra.sources_stack import SourceStream

# None holds more than a few pages at once: it is for the processor time, which is in proportion.
MEMORY_MB: Final = 512
BULK_MEMORY_MB: Final = 1024  # all items of a table pass through it, not some
LONGEST_SECONDS: Final = 900  # all that Lambda gives


class RecoveryStack(Stack):
    """Letters are tried again, and the view is compared with its sources, both by themselves.

    Whoever asks for it has the view built from its sources, or old items of a source completed.
    Holds data, for work that was begun: kept when the stack is deleted, outside dev.
    """

    def __init__(  # noqa: PLR0913 - all are keywords
        self,
        scope: Construct,
        id_: str,
        *,
        deployment: Deployment,
        settings: Settings,
        dead_letters: sqs.IQueue,
        view_table: dynamodb.ITableV2,
        followed: Sequence[SourceStream],
        mappings: Mapping[str, lambda_.CfnEventSourceMapping],
        migrated: Sequence[SourceStream] = (),
        **kwargs: Any,
    ) -> None:
        stage = deployment.stage
        super().__init__(scope, id_, **kwargs)
        self._stage = stage
        self._function = partial(PythonFunction, self, deployment=deployment)
        self._machine = partial(SegmentMachine, self, deployment=deployment)
        self._limits = _said(max_rcu=stage.read_units, max_wcu=stage.write_units)
        self._environment = settings.to_env()
        # It alone reads streams itself.
        streams = deployment.network.environment() if deployment.network else {}
        self._add_replay(may_replay(view_table, dead_letters, followed), streams)
        self._add_verify(view_table, followed)
        # Protected like the view. A note of work that was not ended is the only trace of rows that
        # may have been written for items deleted since; with the work, the keys in it end too.
        self.progress = Table(
            self,
            "Progress",
            name=progress_table(deployment.view_table),
            key=(PK, SK),
            deployment=deployment,
        )
        self._add_backfill(
            may_backfill(view_table, dead_letters, followed, mappings, self.progress),
            {source: mapping.ref for source, mapping in mappings.items()},
        )
        if migrated:
            self._add_migrate(migrated)

    def _add_replay(
        self, statements: Sequence[iam.PolicyStatement], environment: Mapping[str, str]
    ) -> None:
        replay = self._function(
            "Replay",
            handler="lambdas.replay.handler",
            description="Reconciles what the dead letters name",
            memory_mb=MEMORY_MB,
            timeout=Duration.seconds(REPLAY_SECONDS),
            environment={**self._environment, **environment},
            statements=statements,
        ).function
        if (every := self._stage.replay_every) is not None:
            ScheduledInvocation(self, "RepeatReplay", function=replay, every=every, event={})
        CfnOutput(self, REPLAY_FUNCTION_OUTPUT, value=replay.function_name)

    def _add_verify(self, view_table: dynamodb.ITableV2, followed: Sequence[SourceStream]) -> None:
        verify = self._function(
            "Verify",
            handler="lambdas.verify.handler",
            description="Compares AdminViewTable with its source tables, and changes neither",
            memory_mb=MEMORY_MB,
            timeout=Duration.seconds(LONGEST_SECONDS),
            environment=self._environment,
            statements=may_verify(view_table, followed),
        ).function
        if (every := self._stage.verify_every) is not None:
            event = {"sample": self._stage.verify_sample, **_said(max_rcu=self._stage.read_units)}
            ScheduledInvocation(self, "RepeatVerify", function=verify, every=every, event=event)
        CfnOutput(self, VERIFY_FUNCTION_OUTPUT, value=verify.function_name)

    def _add_backfill(
        self, statements: Sequence[iam.PolicyStatement], mappings: Mapping[str, str]
    ) -> None:
        backfill = self._function(
            "Backfill",
            handler="lambdas.bulk.handler",
            description="Builds AdminViewTable from its source tables, and sweeps what is left",
            memory_mb=BULK_MEMORY_MB,
            timeout=Duration.seconds(LONGEST_SECONDS),
            environment=self._environment | {MAPPINGS: json.dumps(mappings)},
            statements=statements,
        ).function
        machine = self._machine(
            "BackfillSegments",
            function=backfill,
            default={"task": "backfill", **self._limits},
            fixed={"step": "begin"},
            comment="Builds AdminViewTable from its source tables, or sweeps it",
        ).machine
        CfnOutput(self, BACKFILL_MACHINE_OUTPUT, value=machine.state_machine_arn)
        CfnOutput(self, "BackfillFunctionName", value=backfill.function_name)

    def _add_migrate(self, migrated: Sequence[SourceStream]) -> None:
        """Let migrations have a role of their own: nobody else may write to a source."""
        migrate = self._function(
            "Migrate",
            handler="lambdas.bulk.handler",
            description="Completes old items of the source tables that have a migration",
            memory_mb=BULK_MEMORY_MB,
            timeout=Duration.seconds(LONGEST_SECONDS),
            environment=self._environment,
            statements=may_migrate(migrated, self.progress),
        ).function
        machine = self._machine(
            "MigrateSegments",
            function=migrate,
            default=self._limits,
            fixed={"step": "begin", "task": "migrate"},
            comment="Completes old items of source tables",
        ).machine
        CfnOutput(self, MIGRATE_MACHINE_OUTPUT, value=machine.state_machine_arn)
        CfnOutput(self, "MigrateFunctionName", value=migrate.function_name)


def _said(**limits: float | None) -> dict[str, float]:
    """Leave out what nobody limits: an event may not hold it."""
    return {name: units for name, units in limits.items() if units is not None}
