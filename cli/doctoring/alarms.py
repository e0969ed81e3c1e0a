"""Whether an alarm rings, and whether anybody would hear it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from cli.doctoring.asking import Aws
from cli.doctoring.finding import Check, Fault, State, Verdict
from cli.doctoring.site import Part, Resource, Site
from lambdas.aws.together import chunks

TOPIC: Final = "AWS::SNS::Topic"
ALARM: Final = ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm")
ALARM_LIMIT: Final = 100  # names in a call, set by CloudWatch


def checks(aws: Aws, site: Site) -> Iterator[Check]:
    """List what is to be looked at."""
    for part in site.parts.values():
        if part.of(*ALARM):
            yield Check(f"alarms of {part.name}", partial(look_at_alarms, aws, site, part))
    for part, one in site.of(TOPIC):
        yield Check(f"topic {one.label}", partial(look_at_topic, aws, site, part, one))


def look_at_topic(aws: Aws, site: Site, part: Part, topic: Resource) -> Verdict:
    """Look at whether the topic is there; that nobody has subscribed is told, and no fault."""
    found = aws.find("sns", "GetTopicAttributes", TopicArn=topic.name)
    if found is None:
        return [Fault("it is gone: alarms ring, and nobody is told", site.restore(part))], ""
    readers = int(found["Attributes"].get("SubscriptionsConfirmed", 0))
    subscribe = f"aws sns subscribe --topic-arn {topic.name} --protocol email"
    nobody = f"nobody is subscribed yet: {subscribe} --notification-endpoint <address>"
    return [], f"subscribed: {readers}" if readers else f"it is there, and {nobody}"


def look_at_alarms(aws: Aws, site: Site, part: Part) -> Verdict:
    """Look at which alarms of a stack ring, and which could not."""
    names = [one.name for one in part.of(*ALARM)]
    found: dict[str, Any] = {}
    for some in chunks(names, ALARM_LIMIT):
        kinds = ["MetricAlarm", "CompositeAlarm"]
        page = aws.ask("cloudwatch", "DescribeAlarms", AlarmNames=[*some], AlarmTypes=kinds)
        told = [*page.get("MetricAlarms", []), *page.get("CompositeAlarms", [])]
        found |= {one["AlarmName"]: one for one in told}
    return judge_alarms(names, found, site.restore(part)), f"none of {len(names)} rings"


def judge_alarms(
    names: Sequence[str], found: Mapping[str, Mapping[str, Any]], restore: str
) -> Iterator[Fault]:
    """Find the alarms that ring, are lost, or tell nobody."""
    for name in names:
        alarm = found.get(name)
        if alarm is None:
            yield Fault(f"{name} is gone", restore)
        elif alarm.get("StateValue") == "ALARM":
            yield Fault(f"{name} rings", str(alarm.get("AlarmDescription", "")))
        if alarm and not alarm.get("ActionsEnabled", True):
            enable = f"aws cloudwatch enable-alarm-actions --alarm-names {name}"
            yield Fault(f"{name} tells nobody", enable, State.WARNING)
