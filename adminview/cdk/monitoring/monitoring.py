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
from adminview.cdk.constructs.recovery import Recovery
from adminview.cdk.constructs.scheduled_invocation import ScheduledInvocation
from adminview.cdk.constructs.segment_machine import SegmentMachine
from adminview.cdk.constructs.source_tables import SourceStream
from adminview.cdk.constructs.sync_pipeline import SyncPipeline
from adminview.cdk.monitoring import rules
from adminview.cdk.monitoring.alarms import (
    Alarm,
    MonitoredFunction,
    MonitoredResources,
    MonitoredStream,
    alarms,
)
from adminview.cdk.monitoring.dashboard import rows
from adminview.cdk.options.deployment import DeploymentOptions
from adminview.model.registry import monitored_parts

LONGEST_DISPLAY: Final = 100  # characters that SNS takes


class Monitoring(Construct):
    """Alarms, the topic that they publish to, and a dashboard."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        options: DeploymentOptions,
        streams: Sequence[SourceStream],
        sync: SyncPipeline,
        recovery: Recovery,
        api: QueryApi,
    ) -> None:
        super().__init__(scope, id_)
        views = options.views
        monitored = [one for part in (sync, recovery, api) for one in part.node.find_all()]
        machines = [one for one in monitored if isinstance(one, SegmentMachine)]
        resources = MonitoredResources(
            service=options.name,
            stage=options.stage,
            streams=[
                MonitoredStream(one.source.name, one.name, one.weak_label(self)) for one in streams
            ],
            view_table=options.view_table,
            # All that are declared, whatever phase a model change is in: it ends with these.
            indexes=[index.name for index in views.indexes if not index.local],
            queue=sync.dead_letters.queue_name,
            api=api.api.api_id,
            sync=sync.function.function_name,
            functions=_functions(monitored),
            machines={one.node.id: one.machine.state_machine_arn for one in machines},
        )
        self.topic = self._topic(options)
        # What is monitored, for whoever plans a change of it.
        add_metadata(self.topic, WATCHED_METADATA, monitored_parts(views.description()))
        action = actions.SnsAction(self.topic)
        created = [self._alarm(alarm, options, action) for alarm in alarms(resources)]
        dashboard = cloudwatch.Dashboard(
            self, "Dashboard", dashboard_name=options.name, widgets=[*rows(resources, created)]
        )
        CfnOutput(self, TOPIC_OUTPUT, value=self.topic.topic_arn)
        CfnOutput(self, DASHBOARD_OUTPUT, value=dashboard.dashboard_name)

    def _topic(self, options: DeploymentOptions) -> sns.Topic:
        """Make the topic to subscribe to: alarms of this deployment may publish, over TLS.

        No key of KMS but the customer's: SNS encrypts its disks anyway, and alarms cannot use the
        key that AWS manages for it. What is told names tables, functions and counts, and nothing of
        customers.
        """
        topic = sns.Topic(
            self,
            "Alarms",
            display_name=f"Alarms of {options.name}"[:LONGEST_DISPLAY],
            enforce_ssl=True,
            master_key=options.key_in(self),
        )
        # The rule about TLS replaces the policy that a topic has by default.
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
        self, one: Alarm, options: DeploymentOptions, action: cloudwatch.IAlarmAction
    ) -> cloudwatch.Alarm:
        rule, metric = one.rule, one.metric
        page = options.alarms.runbook or rules.RUNBOOK
        assert isinstance(metric, cloudwatch.Metric | cloudwatch.MathExpression)
        alarm = cloudwatch.Alarm(
            self,
            one.name,
            alarm_name=one.name_in(options.name),
            alarm_description=rule.description(one.what, page),
            metric=metric.with_(period=rule.period),
            threshold=rule.at,
            evaluation_periods=rule.of,
            datapoints_to_alarm=rule.times,
            treat_missing_data=rule.missing,
        )
        alarm.add_alarm_action(action)
        alarm.add_ok_action(action)
        if rule.missing is rules.TOLD:
            alarm.add_insufficient_data_action(action)
        return alarm


def _functions(monitored: Sequence[IConstruct]) -> dict[str, MonitoredFunction]:
    """Find the functions; when an error is no accident depends on who calls, and calls again."""
    rule = {
        one.function.node.path: (
            rules.SCHEDULED_ERRORS if isinstance(one, ScheduledInvocation) else rules.BULK_ERRORS
        )
        for one in monitored
        if isinstance(one, ScheduledInvocation | SegmentMachine)
    }
    return {
        one.node.id: MonitoredFunction(
            one.function.function_name, rule.get(one.function.node.path, rules.ERRORS)
        )
        for one in monitored
        if isinstance(one, PythonFunction)
    }
