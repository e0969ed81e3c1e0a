"""Check for alarms that ring, and for topics without subscribers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

from adminview.aws.concurrency import batched
from adminview.cli.deployment.deployment import DeployedStack, Deployment, Resource
from adminview.cli.doctor.finding import Check, Fault, State, Verdict
from adminview.cli.doctor.references import stale_references

TOPIC: Final = "AWS::SNS::Topic"
ALARM: Final = ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm")
ALARM_LIMIT: Final = 50  # names per call: the size of a page, set by CloudWatch
DAY: Final = 24 * 60 * 60


def checks(deployment: Deployment, now: Callable[[], float]) -> Iterator[Check]:
    for part in deployment.parts.values():
        if part.of(*ALARM):
            run = partial(fetch_alarms, deployment, part, now)
            yield Check(f"alarms of {part.name}", run)
    for part, topic in deployment.of(TOPIC):
        yield Check(f"topic {topic.label}", partial(fetch_topic, deployment, part, topic))


def fetch_topic(deployment: Deployment, part: DeployedStack, topic: Resource) -> Verdict:
    response = deployment.aws.find("sns", "GetTopicAttributes", TopicArn=topic.name)
    if response is None:
        return [Fault("it is deleted: alarms notify nobody", deployment.restore(part))], ""
    attributes = response["Attributes"]
    confirmed, pending = (
        int(attributes.get(f"Subscriptions{state}", 0)) for state in ("Confirmed", "Pending")
    )
    if confirmed:
        return [], f"subscribed: {confirmed}" + (f", not confirmed: {pending}" if pending else "")
    return evaluate_subscriptions(topic.name, pending), ""


def evaluate_subscriptions(topic: str, pending: int) -> Iterator[Fault]:
    """Report a topic without confirmed subscriptions."""
    subscribe = f"aws sns subscribe --topic-arn {topic} --protocol email"
    advice = f"{subscribe} --notification-endpoint <address>"
    problem = "alarms notify nobody: there is no subscription"
    if pending:
        problem = f"alarms notify nobody: {_addresses(pending)} not confirmed"
        advice = f"follow the link in the email from AWS; for a new email: {advice}"
    yield Fault(problem, advice, State.WARNING)


def _addresses(count: int) -> str:
    return "1 address has" if count == 1 else f"{count} addresses have"


def fetch_alarms(deployment: Deployment, part: DeployedStack, now: Callable[[], float]) -> Verdict:
    aws, resources = deployment.aws, part.of(*ALARM)
    names = [alarm.name for alarm in resources]
    alarms: dict[str, Any] = {}
    for batch in batched(names, ALARM_LIMIT):
        kinds = ["MetricAlarm", "CompositeAlarm"]
        page = aws.call("cloudwatch", "DescribeAlarms", AlarmNames=[*batch], AlarmTypes=kinds)
        described = [*page.get("MetricAlarms", []), *page.get("CompositeAlarms", [])]
        alarms |= {alarm["AlarmName"]: alarm for alarm in described}
    faults = [*evaluate_alarms(names, alarms, deployment.restore(part), now())]
    for alarm in resources:
        if actual := alarms.get(alarm.name):
            faults += stale_references(alarm.name, alarm, actual, part, deployment)
    return faults, f"none of {len(names)} is in ALARM"


def evaluate_alarms(
    names: Sequence[str], alarms: Mapping[str, Mapping[str, Any]], restore: str, now: float
) -> Iterator[Fault]:
    """Report the alarms that ring, are deleted, have no data, or have actions disabled."""
    for name in names:
        alarm = alarms.get(name)
        if alarm is None:
            yield Fault(f"{name} is deleted", restore)
            continue
        description = str(alarm.get("AlarmDescription", ""))
        if alarm.get("StateValue") == "ALARM":
            yield Fault(f"{name} is in ALARM", description)
        elif _has_no_data(alarm, now):
            yield Fault(f"{name} no longer has data", description, State.WARNING)
        if not alarm.get("ActionsEnabled", True):
            enable = f"aws cloudwatch enable-alarm-actions --alarm-names {name}"
            yield Fault(f"{name} notifies nobody: its actions are disabled", enable, State.WARNING)


def _has_no_data(alarm: Mapping[str, Any], now: float) -> bool:
    """Return whether a metric that is sent by schedule is missing.

    A new or changed alarm has no data before the first run, so it gets one full evaluation range.
    """
    state = (alarm.get("StateValue"), alarm.get("TreatMissingData"))
    changed = alarm.get("AlarmConfigurationUpdatedTimestamp")
    if state != ("INSUFFICIENT_DATA", "missing") or not isinstance(changed, datetime):
        return False
    evaluation_range = alarm.get("Period", DAY) * alarm.get("EvaluationPeriods", 1)
    return bool(now - changed.timestamp() > evaluation_range)
