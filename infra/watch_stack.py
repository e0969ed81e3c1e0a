"""Reports that reach a person: a topic, the alarms that tell it, and a dashboard."""

from collections.abc import Sequence
from typing import Any, Final

from aws_cdk import CfnOutput, CrossStackReferences, ReferenceStrength, Stack
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct, IConstruct

from adminview.aws.settings import DASHBOARD_OUTPUT, TOPIC_OUTPUT, WATCHED_METADATA
from adminview.cdk.constructs.python_function import PythonFunction
from adminview.cdk.constructs.scheduled_invocation import ScheduledInvocation
from adminview.cdk.constructs.segment_machine import SegmentMachine
from adminview.cdk.monitoring import rules
from adminview.cdk.monitoring.alarms import Alarm, Function, MonitoredResources, alarms
from adminview.cdk.monitoring.dashboard import rows
from adminview.cdk.options import Deployment
from adminview.model import Registry
from adminview.model.monitored import watched
from infra.sources_stack import SourceStream

LONGEST_DISPLAY: Final = 100  # characters that SNS takes


class WatchStack(Stack):
    """Looks at all that was added to *scope* before it, and holds up nothing of it.

    What it names may go: with an export, a function or a source could not while an alarm is on it.
    """

    def __init__(  # noqa: PLR0913 - all are keywords
        self,
        scope: Construct,
        id_: str,
        *,
        registry: Registry,
        deployment: Deployment,
        dead_letters: sqs.IQueue,
        sync: lambda_.IFunction,
        api: gateway.IHttpApi,
        followed: Sequence[SourceStream],
        **kwargs: Any,
    ) -> None:
        super().__init__(scope, id_, **kwargs)
        # What is looked at, for whoever plans a change of it.
        self.template_options.metadata = {WATCHED_METADATA: watched(registry.description())}
        CrossStackReferences.of(self).consume(ReferenceStrength.WEAK)
        everything = scope.node.find_all()
        machines = [one for one in everything if isinstance(one, SegmentMachine)]
        scene = MonitoredResources(
            service=deployment.name,
            stage=deployment.stage,
            followed=followed,
            view_table=deployment.view_table,
            # Whatever a plan's wave has of them: with its last one, these are all.
            indexes=[one.name for one in registry.indexes if not one.local],
            queue=dead_letters.queue_name,
            api=api.api_id,
            sync=sync.function_name,
            functions=_functions(everything),
            machines={one.node.id: one.machine.state_machine_arn for one in machines},
        )
        self.topic = self._topic(deployment)
        action = actions.SnsAction(self.topic)
        made = [self._alarm(one, deployment, action) for one in alarms(scene)]
        dashboard = cloudwatch.Dashboard(
            self, "Dashboard", dashboard_name=deployment.name, widgets=[*rows(scene, made)]
        )
        CfnOutput(self, TOPIC_OUTPUT, value=self.topic.topic_arn)
        CfnOutput(self, DASHBOARD_OUTPUT, value=dashboard.dashboard_name)

    def _topic(self, deployment: Deployment) -> sns.Topic:
        """Make the topic to subscribe to: alarms of this deployment may publish, over TLS.

        No key of KMS but the customer's: SNS encrypts its disks anyway, and alarms cannot use the
        key that AWS manages for it. What is told names tables, functions and counts, and nothing of
        customers.
        """
        topic = sns.Topic(
            self,
            "Alarms",
            display_name=f"Alarms of {deployment.name}"[:LONGEST_DISPLAY],
            enforce_ssl=True,
            master_key=deployment.key_in(self),
        )
        # The rule about TLS replaces the policy that a topic has by default.
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                sid="AlarmsOfThisDeployment",
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions={
                    "StringEquals": {"aws:SourceAccount": self.account},
                    "ArnLike": {"aws:SourceArn": self._alarms_of(deployment)},
                },
            )
        )
        if deployment.alarms.email:
            topic.add_subscription(subscriptions.EmailSubscription(deployment.alarms.email))
        return topic

    def _alarms_of(self, deployment: Deployment) -> str:
        prefix = f"arn:{self.partition}:cloudwatch:{self.region}:{self.account}:alarm"
        return f"{prefix}:{deployment.name}-*"

    def _alarm(
        self, one: Alarm, deployment: Deployment, action: cloudwatch.IAlarmAction
    ) -> cloudwatch.Alarm:
        rule, metric = one.rule, one.metric
        page = deployment.alarms.runbook or rules.RUNBOOK
        assert isinstance(metric, cloudwatch.Metric | cloudwatch.MathExpression)
        alarm = cloudwatch.Alarm(
            self,
            one.name,
            alarm_name=one.name_in(deployment.name),
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


def _functions(everything: Sequence[IConstruct]) -> dict[str, Function]:
    """Find the functions; when an error is no accident depends on who calls, and calls again."""
    rule = {
        one.function.node.path: (
            rules.SCHEDULED_ERRORS if isinstance(one, ScheduledInvocation) else rules.BULK_ERRORS
        )
        for one in everything
        if isinstance(one, ScheduledInvocation | SegmentMachine)
    }
    return {
        one.node.id: Function(
            one.function.function_name, rule.get(one.function.node.path, rules.ERRORS)
        )
        for one in everything
        if isinstance(one, PythonFunction)
    }
