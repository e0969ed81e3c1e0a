"""Whether an alarm rings, and whether anybody would hear it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

from adminview.aws.concurrency import batched
from adminview.cli.deployment.aws_calls import Aws
from adminview.cli.deployment.deployment import DeployedStack, Deployment, Resource
from adminview.cli.doctor.finding import Check, Fault, State, Verdict

TOPIC: Final = "AWS::SNS::Topic"
ALARM: Final = ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm")
ALARM_LIMIT: Final = 100  # names in a call, set by CloudWatch
DAY: Final = 24 * 60 * 60


def checks(aws: Aws, deployment: Deployment, now: Callable[[], float]) -> Iterator[Check]:
    """List what is to be looked at."""
    for part in deployment.parts.values():
        if part.of(*ALARM):
            look = partial(fetch_alarms, aws, deployment, part, now)
            yield Check(f"alarms of {part.name}", look)
    for part, one in deployment.of(TOPIC):
        yield Check(f"topic {one.label}", partial(fetch_topic, aws, deployment, part, one))


def fetch_topic(aws: Aws, deployment: Deployment, part: DeployedStack, topic: Resource) -> Verdict:
    """Look at whether the topic is there, and whether anybody has subscribed."""
    found = aws.find("sns", "GetTopicAttributes", TopicArn=topic.name)
    if found is None:
        return [Fault("it is gone: alarms ring, and nobody is told", deployment.restore(part))], ""
    told = found["Attributes"]
    readers, asked = (int(told.get(f"Subscriptions{one}", 0)) for one in ("Confirmed", "Pending"))
    if readers:
        return [], f"subscribed: {readers}" + (f", not confirmed: {asked}" if asked else "")
    return evaluate_nobody(topic.name, asked), ""


def evaluate_nobody(topic: str, asked: int) -> Iterator[Fault]:
    """Say that nobody hears of alarms, and why."""
    subscribe = f"aws sns subscribe --topic-arn {topic} --protocol email"
    do = f"{subscribe} --notification-endpoint <address>"
    seen = "nobody hears of alarms: nobody is subscribed"
    if asked:
        seen = f"nobody hears of alarms: {_addresses(asked)} not confirmed"
        do = f"follow the link in the mail of AWS; for a new one: {do}"
    yield Fault(seen, do, State.WARNING)


def _addresses(count: int) -> str:
    return "1 address has" if count == 1 else f"{count} addresses have"


def fetch_alarms(
    aws: Aws, deployment: Deployment, part: DeployedStack, now: Callable[[], float]
) -> Verdict:
    """Look at which alarms of a stack ring, and which could not."""
    names = [one.name for one in part.of(*ALARM)]
    found: dict[str, Any] = {}
    for some in batched(names, ALARM_LIMIT):
        kinds = ["MetricAlarm", "CompositeAlarm"]
        page = aws.ask("cloudwatch", "DescribeAlarms", AlarmNames=[*some], AlarmTypes=kinds)
        told = [*page.get("MetricAlarms", []), *page.get("CompositeAlarms", [])]
        found |= {one["AlarmName"]: one for one in told}
    return evaluate_alarms(
        names, found, deployment.restore(part), now()
    ), f"none of {len(names)} rings"


def evaluate_alarms(
    names: Sequence[str], found: Mapping[str, Mapping[str, Any]], restore: str, now: float
) -> Iterator[Fault]:
    """Find the alarms that ring, are lost, see nothing, or tell nobody."""
    for name in names:
        alarm = found.get(name)
        if alarm is None:
            yield Fault(f"{name} is gone", restore)
            continue
        read_on = str(alarm.get("AlarmDescription", ""))
        if alarm.get("StateValue") == "ALARM":
            yield Fault(f"{name} rings", read_on)
        elif _sees_nothing(alarm, now):
            yield Fault(f"{name} has no data any more", read_on, State.WARNING)
        if not alarm.get("ActionsEnabled", True):
            enable = f"aws cloudwatch enable-alarm-actions --alarm-names {name}"
            yield Fault(f"{name} tells nobody", enable, State.WARNING)


def _sees_nothing(alarm: Mapping[str, Any], now: float) -> bool:
    """Tell whether nothing is counted any more that should be, by schedule.

    A new alarm has no data before the first run, nor has one that was changed: it has all the time
    that it looks back.
    """
    told = (alarm.get("StateValue"), alarm.get("TreatMissingData"))
    made = alarm.get("AlarmConfigurationUpdatedTimestamp")
    if told != ("INSUFFICIENT_DATA", "missing") or not isinstance(made, datetime):
        return False
    looks_back = alarm.get("Period", DAY) * alarm.get("EvaluationPeriods", 1)
    return bool(now - made.timestamp() > looks_back)
