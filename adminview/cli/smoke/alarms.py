"""Check 12: an alarm that rings reaches a person."""

from datetime import UTC, datetime
from typing import Any, Final

from adminview.aws.settings import TOPIC_OUTPUT
from adminview.cli.deployment.stacks import WATCH
from adminview.cli.smoke.check import (
    Cleanup,
    Seen,
    SmokeCheck,
    failed,
    passed,
    skipped,
    unknown,
)
from adminview.cli.smoke.run import SmokeRun

ALARM: Final = "AWS::CloudWatch::Alarm"
RINGING: Final = "ALARM"
ACTION_SECONDS: Final = 60.0
REASON: Final = "adminview smoke tests whether alarms reach you. Nothing is wrong."
DONE: Final = "Successfully executed action"
PROMPT: Final = "Did the email about the alarm {} arrive? It may take a minute"


def ring(run: SmokeRun, cleanup: Cleanup) -> Seen:
    """Set an alarm to ALARM, read whether SNS took the notification, and let the user confirm."""
    alarms = run.deployment.part(WATCH).of(ALARM)
    if not alarms:
        return skipped("the deployment has no alarms")
    topic = run.deployment.output(WATCH, TOPIC_OUTPUT)
    response = run.call("sns", "GetTopicAttributes", TopicArn=topic)
    subscribed = int(response["Attributes"].get("SubscriptionsConfirmed", 0))
    name, state = _quiet(run, [alarm.name for alarm in alarms])
    if not name:
        return unknown("every alarm rings already", "read docs/runbook.md")
    began = datetime.fromtimestamp(run.now(), tz=UTC)
    cleanup.add(f"the alarm {name} rings", lambda: _set(run, name, state))
    _set(run, name, RINGING)
    actions, _ = run.wait(lambda: _actions(run, name, began), run.patience(ACTION_SECONDS))
    return _evaluate(run, name, actions, subscribed)


def _evaluate(run: SmokeRun, name: str, actions: list[str], subscribed: int) -> Seen:
    """Evaluate the actions of an alarm; the user says whether the email arrived."""
    if not actions:
        return failed(f"{name} ran no action", "deploy the Watch stack again with --revert-drift")
    if not all(summary.startswith(DONE) for summary in actions):
        advice = "let the topic's policy and its key admit cloudwatch.amazonaws.com"
        return failed(f"{name} could not notify its topic", advice)
    if not subscribed:
        advice = "subscribe an address to AlarmTopicArn, confirm it, and repeat: --only 12"
        return unknown("the topic took the notification, but has no confirmed subscriber", advice)
    line = f"the topic took the notification for {subscribed} subscribers"
    if not run.options.confirm:
        return unknown(line, f"look for an email about the alarm {name}")
    if run.options.confirm(PROMPT.format(name)):
        return passed(f"{line}, and it arrived")
    return failed(f"{line}, and it did not arrive", "look at the address and its spam folder")


def _quiet(run: SmokeRun, names: list[str]) -> tuple[str, str]:
    """Return an alarm that does not ring, and its state."""
    for name in names:
        described = run.call("cloudwatch", "DescribeAlarms", AlarmNames=[name])["MetricAlarms"]
        for alarm in described:
            if alarm["StateValue"] != RINGING:
                return name, str(alarm["StateValue"])
    return "", ""


def _set(run: SmokeRun, name: str, state: str) -> None:
    run.call("cloudwatch", "SetAlarmState", AlarmName=name, StateValue=state, StateReason=REASON)


def _actions(run: SmokeRun, name: str, began: datetime) -> list[str]:
    history: Any = run.call(
        "cloudwatch",
        "DescribeAlarmHistory",
        AlarmName=name,
        HistoryItemType="Action",
        StartDate=began,
        EndDate=datetime.fromtimestamp(run.now() + 60, tz=UTC),
    )
    return [str(item["HistorySummary"]) for item in history["AlarmHistoryItems"]]


CHECKS: Final = (
    SmokeCheck(
        12,
        "An alarm reaches a person",
        "CloudWatch may publish to the topic, and the email arrives",
        ring,
        minutes=1,
        cents=0.1,
        only_on_aws=True,
    ),
)
