"""The functions that repair the view, or report that it differs from its sources."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from aws_cdk import CfnOutput, CustomResource, Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from adminview.aws.settings import (
    BACKFILL_MACHINE,
    BACKFILL_MACHINE_OUTPUT,
    MIGRATE_MACHINE_OUTPUT,
    REPLAY_FUNCTION_OUTPUT,
    VERIFY_FUNCTION_OUTPUT,
    VIEW_STREAM,
)
from adminview.bulk.builds import DEPLOYMENT, PLAN
from adminview.cdk.constructs.python_function import PythonFunction
from adminview.cdk.constructs.recovery_access import (
    may_backfill,
    may_build,
    may_migrate,
    may_replay,
    may_verify,
)
from adminview.cdk.constructs.segment_machine import SegmentMachine
from adminview.cdk.constructs.source_tables import SourceStream
from adminview.cdk.constructs.sync_pipeline import SyncPipeline
from adminview.cdk.constructs.table import AdminViewTable, Table
from adminview.cdk.constructs.totals import may_await_totals, may_verify_totals, totals_stream
from adminview.cdk.options.deployment import DeploymentOptions
from adminview.model.attribute import PK, SK
from adminview.model.delivery import REPLAY_SECONDS
from adminview.model.readiness import progress_table

# For processor time, which is in proportion; no function holds more than a few pages.
MEMORY_MB: Final = 512
BULK_MEMORY_MB: Final = 1024  # it processes all items of a table
MAX_SECONDS: Final = 900  # set by Lambda
BUILD_SECONDS: Final = 120
ANSWER_SECONDS: Final = 300  # CloudFormation gives up; by default only after an hour
CHECK_EVERY: Final = Duration.minutes(15)


class ScheduledInvocation(Construct):
    """A rule that invokes *function* at a fixed rate, always with the same event.

    EventBridge retries failed deliveries. There is no queue for those it gives up on: the next
    event requests the same work.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        function: lambda_.IFunction,
        every: Duration,
        event: Mapping[str, Any],
    ) -> None:
        super().__init__(scope, id_)
        self.function = function
        # The target itself adds the permission for this rule to invoke the function.
        self.rule = events.Rule(
            self,
            "Rule",
            schedule=events.Schedule.rate(every),
            targets=[
                targets.LambdaFunction(
                    function, event=events.RuleTargetInput.from_object(dict(event))
                )
            ],
        )


class Recovery(Construct):
    """Replays dead letters and verifies the view on a schedule; backfills, sweeps and migrates.

    Its table holds the progress of bulk work.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        options: DeploymentOptions,
        view: AdminViewTable,
        streams: Sequence[SourceStream],
        sync: SyncPipeline,
    ) -> None:
        super().__init__(scope, id_)
        self._stage = options.stage
        self._function = partial(PythonFunction, self, options=options, settings=sync.settings)
        self._machine = partial(SegmentMachine, self, options=options)
        self._limits = _set(max_rcu=self._stage.read_units, max_wcu=self._stage.write_units)
        # For functions that read streams; Lambda itself reads those of a mapping.
        endpoint = options.network.environment() if options.network else {}
        self._add_replay(may_replay(view.table, sync.dead_letters, streams), endpoint)
        # Protected like the view: an intent record is the only trace of rows that may have been
        # written for items that were deleted since. It is deleted when its work is done.
        self.progress = Table(
            self,
            "Progress",
            name=progress_table(options.view_table),
            key=(PK, SK),
            options=options,
        )
        totals = may_verify_totals(self, options)
        self._add_verify([*may_verify(view.table, streams, self.progress), *totals])
        repaired = may_verify_totals(self, options, repair=True)
        stream = totals_stream(view, options)
        machine = self._add_backfill(
            [
                *may_backfill(view.table, sync.dead_letters, streams, sync.mappings, self.progress),
                *repaired,
                *may_await_totals(self, options, stream),
            ],
            {source: mapping.ref for source, mapping in sync.mappings.items()},
            {VIEW_STREAM: stream, **endpoint} if stream else {},
        )
        self.build = self._add_build(options, machine)
        sources = {migration.source.name for migration in options.migrations}
        if migrated := [stream for stream in streams if stream.source.name in sources]:
            self._add_migrate(migrated)

    def _add_replay(
        self, statements: Sequence[iam.PolicyStatement], environment: Mapping[str, str]
    ) -> None:
        replay = self._function(
            "Replay",
            handler="replay",
            description="Replays dead letters",
            memory_mb=MEMORY_MB,
            timeout=Duration.seconds(REPLAY_SECONDS),
            environment=environment,
            statements=statements,
        ).function
        if (every := self._stage.replay_every) is not None:
            ScheduledInvocation(self, "RepeatReplay", function=replay, every=every, event={})
        CfnOutput(self, REPLAY_FUNCTION_OUTPUT, value=replay.function_name)

    def _add_verify(self, statements: Sequence[iam.PolicyStatement]) -> None:
        verify = self._function(
            "Verify",
            handler="verify",
            description="Compares AdminViewTable with its source tables, and changes no row",
            memory_mb=MEMORY_MB,
            timeout=Duration.seconds(MAX_SECONDS),
            statements=statements,
        ).function
        if (every := self._stage.verify_every) is not None:
            event = {"sample": self._stage.verify_sample, **_set(max_rcu=self._stage.read_units)}
            ScheduledInvocation(self, "RepeatVerify", function=verify, every=every, event=event)
        CfnOutput(self, VERIFY_FUNCTION_OUTPUT, value=verify.function_name)

    def _add_backfill(
        self,
        statements: Sequence[iam.PolicyStatement],
        mappings: Mapping[str, str],
        environment: Mapping[str, str],
    ) -> sfn.StateMachine:
        backfill = self._function(
            "Backfill",
            handler="bulk",
            description="Backfills AdminViewTable from its source tables, sweeps and verifies it",
            memory_mb=BULK_MEMORY_MB,
            timeout=Duration.seconds(MAX_SECONDS),
            environment=environment,
            statements=statements,
        ).function
        machine = self._machine(
            "BackfillSegments",
            function=backfill,
            default={"task": "backfill", **self._limits},
            # In the input: a hundred UUIDs do not fit into the function's environment.
            fixed={"step": "begin", "mappings": dict(mappings)},
            comment="Backfills AdminViewTable from its source tables, sweeps or verifies it",
        ).machine
        CfnOutput(self, BACKFILL_MACHINE_OUTPUT, value=machine.state_machine_arn)
        CfnOutput(self, "BackfillFunctionName", value=backfill.function_name)
        return machine

    def _add_build(self, options: DeploymentOptions, machine: sfn.StateMachine) -> CustomResource:
        """Start to build the rows in each deployment that changes the model."""
        build = self._function(
            "Build",
            handler="build",
            description="Starts to build the rows of a new model, and reports what is not ready",
            memory_mb=MEMORY_MB,
            timeout=Duration.seconds(BUILD_SECONDS),
            environment={BACKFILL_MACHINE: machine.state_machine_arn},
            statements=may_build(machine, self.progress),
            # CloudFormation waits for an answer through S3, also when it rolls back. In a VPC
            # without a way there, no deployment could end. The function reads no item.
            options=replace(options, network=None),
        ).function
        ScheduledInvocation(self, "RepeatBuild", function=build, every=CHECK_EVERY, event={})
        resource = CustomResource(
            self,
            "BuildModel",
            resource_type="Custom::AdminViewBuild",
            service_token=build.function_arn,
            service_timeout=Duration.seconds(ANSWER_SECONDS),
            properties={
                "Model": options.views.fingerprint,
                "Owner": PLAN if options.phase.planned else DEPLOYMENT,
            },
        )
        # The execution must find the new code.
        resource.node.add_dependency(machine)
        return resource

    def _add_migrate(self, migrated: Sequence[SourceStream]) -> None:
        # A function of its own, because no other role may write to a source.
        migrate = self._function(
            "Migrate",
            handler="bulk",
            description="Migrates items of source tables",
            memory_mb=BULK_MEMORY_MB,
            timeout=Duration.seconds(MAX_SECONDS),
            statements=may_migrate(migrated, self.progress),
        ).function
        machine = self._machine(
            "MigrateSegments",
            function=migrate,
            default=self._limits,
            fixed={"step": "begin", "task": "migrate"},
            comment="Migrates items of source tables",
        ).machine
        CfnOutput(self, MIGRATE_MACHINE_OUTPUT, value=machine.state_machine_arn)
        CfnOutput(self, "MigrateFunctionName", value=migrate.function_name)


def _set(**limits: float | None) -> dict[str, float]:
    """Return the limits that are set: an event must not contain the others."""
    return {name: units for name, units in limits.items() if units is not None}
