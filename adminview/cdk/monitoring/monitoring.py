"""Monitoring: a topic, the alarms that publish to it, and a dashboard."""

from collections.abc import Sequence
from typing import Final

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct, IConstruct

from adminview.aws.settings import DASHBOARD_OUTPUT, TOPIC_OUTPUT, WATCHED_METADATA
from adminview.cdk.constructs.python_function import PythonFunction, add_metadata
from adminview.cdk.constructs.query_api import QueryApi
from adminview.cdk.constructs.recovery import Recovery, ScheduledInvocation
from adminview.cdk.constructs.segment_machine import SegmentMachine
from adminview.cdk.constructs.sync_pipeline import SyncPipeline
from adminview.cdk.constructs.totals import Totals
from adminview.cdk.monitoring import rules
from adminview.cdk.monitoring.alarms import (
    Alarm,
    MonitoredFunction,
    MonitoredResources,
    MonitoredStream,
    MonitoredTotals,
    alarms,
)
from adminview.cdk.monitoring.dashboard import rows
from adminview.cdk.options.deployment import DeploymentOptions
from adminview.model.registry import monitored_parts

MAX_DISPLAY_NAME: Final = 100  # characters, set by SNS


class Monitoring(Construct):
    """Alarms, the topic that they publish to, and a dashboard."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        options: DeploymentOptions,
        sync: SyncPipeline,
        recovery: Recovery,
        api: QueryApi,
        totals: Totals | None = None,
    ) -> None:
        super().__init__(scope, id_)
        views = options.views
        parts = [part for part in (sync, recovery, api, totals) if part]
        monitored = [child for part in parts for child in part.node.find_all()]
        machines = [child for child in monitored if isinstance(child, SegmentMachine)]
        resources = MonitoredResources(
            service=options.name,
            stage=options.stage,
            streams=[
                MonitoredStream(source, mapping.ref) for source, mapping in sync.mappings.items()
            ],
            view_table=options.view_table,
            # All declared indexes: a model change ends with these, whatever its current phase.
            indexes=[index.name for index in views.indexes if not index.local],
            queue=sync.dead_letters.queue_name,
            api=api.api.api_id,
            sync=sync.function.function_name,
            functions=_functions(monitored),
            machines={machine.node.id: machine.machine.state_machine_arn for machine in machines},
            totals=_totals(totals, options) if totals else None,
        )
        self.topic = self._topic(options)
        # Read by `adminview plan`.
        add_metadata(self.topic, WATCHED_METADATA, monitored_parts(views.description()))
        action = actions.SnsAction(self.topic)
        created = [self._alarm(alarm, options, action) for alarm in alarms(resources)]
        dashboard = cloudwatch.Dashboard(
            self, "Dashboard", dashboard_name=options.name, widgets=[*rows(resources, created)]
        )
        CfnOutput(self, TOPIC_OUTPUT, value=self.topic.topic_arn)
        CfnOutput(self, DASHBOARD_OUTPUT, value=dashboard.dashboard_name)

    def _topic(self, options: DeploymentOptions) -> sns.Topic:
        """Create the topic. Only alarms of this deployment may publish to it, over TLS.

        Without a customer key there is no KMS key: alarms cannot use the key that AWS manages for
        SNS, and SNS encrypts its disks anyway. Messages name tables, functions and counts, and
        contain no customer data.
        """
        topic = sns.Topic(
            self,
            "Alarms",
            display_name=f"Alarms of {options.name}"[:MAX_DISPLAY_NAME],
            enforce_ssl=True,
            master_key=options.key_in(self),
        )
        # The statement about TLS replaces the default policy of a topic.
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                sid="AlarmsOfThisDeployment",
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions={
                    "StringEquals": {"aws:SourceAccount": Stack.of(self).account},
                    "ArnLike": {"aws:SourceArn": self._alarms_of(options)},
                },
            )
        )
        if options.alarms.email:
            topic.add_subscription(subscriptions.EmailSubscription(options.alarms.email))
        return topic

    def _alarms_of(self, options: DeploymentOptions) -> str:
        stack = Stack.of(self)
        prefix = f"arn:{stack.partition}:cloudwatch:{stack.region}:{stack.account}:alarm"
        return f"{prefix}:{options.name}-*"

    def _alarm(
        self, alarm: Alarm, options: DeploymentOptions, action: cloudwatch.IAlarmAction
    ) -> cloudwatch.Alarm:
        rule, metric = alarm.rule, alarm.metric
        page = options.alarms.runbook or rules.RUNBOOK
        assert isinstance(metric, cloudwatch.Metric | cloudwatch.MathExpression)
        created = cloudwatch.Alarm(
            self,
            alarm.name,
            alarm_name=alarm.name_in(options.name),
            alarm_description=rule.description(alarm.subject, page),
            metric=metric.with_(period=rule.period),
            threshold=rule.at,
            evaluation_periods=rule.of,
            datapoints_to_alarm=rule.times,
            treat_missing_data=rule.missing,
            comparison_operator=rule.comparison,
        )
        created.add_alarm_action(action)
        created.add_ok_action(action)
        if rule.missing is rules.REPORTED:
            created.add_insufficient_data_action(action)
        return created


def _totals(totals: Totals, options: DeploymentOptions) -> MonitoredTotals:
    return MonitoredTotals(totals.function.function_name, options.totals_table, totals.mapping.ref)


def _functions(monitored: Sequence[IConstruct]) -> dict[str, MonitoredFunction]:
    """Return the functions by id; the rule for errors depends on who invokes and retries them."""
    rule = {
        caller.function.node.path: (
            rules.SCHEDULED_ERRORS if isinstance(caller, ScheduledInvocation) else rules.BULK_ERRORS
        )
        for caller in monitored
        if isinstance(caller, ScheduledInvocation | SegmentMachine)
    }
    return {
        child.node.id: MonitoredFunction(
            child.function.function_name, rule.get(child.function.node.path, rules.ERRORS)
        )
        for child in monitored
        if isinstance(child, PythonFunction)
    }
