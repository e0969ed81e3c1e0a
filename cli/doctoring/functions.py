"""Whether the functions can run, what asks them on schedule is on, and no alarm rings."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from cli.doctoring.asking import Aws
from cli.doctoring.finding import Check, Fault, State, Verdict
from cli.doctoring.references import resolve
from cli.doctoring.site import Part, Resource, Site
from cli.evolution.stacks import FUNCTION
from lambdas.aws.together import chunks

RULE, MACHINE = "AWS::Events::Rule", "AWS::StepFunctions::StateMachine"
ALARM: Final = ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm")
ALARM_LIMIT: Final = 100  # names in a call, set by CloudWatch
READY: Final = ("Active", "Inactive")  # the latter was idle for long, and wakes when it is asked
RESERVED: Final = "ReservedConcurrentExecutions"


def checks(aws: Aws, site: Site) -> Iterator[Check]:
    """List what is to be looked at."""
    for part, one in site.of(FUNCTION):
        yield Check(f"function {one.label}", partial(look_at_function, aws, site, part, one))
    for part, one in site.of(RULE):
        yield Check(f"schedule {one.label}", partial(look_at_rule, aws, site, part, one))
    for part, one in site.of(MACHINE):
        yield Check(f"state machine {one.label}", partial(look_at_machine, aws, site, part, one))
    for part in site.parts.values():
        if part.of(*ALARM):
            yield Check(f"alarms of {part.name}", partial(look_at_alarms, aws, site, part))


def look_at_function(aws: Aws, site: Site, part: Part, function: Resource) -> Verdict:
    """Look at whether a function can be invoked."""
    name = {"FunctionName": function.name}
    found = aws.find("lambda", "GetFunctionConfiguration", **name)
    reserved = aws.ask("lambda", "GetFunctionConcurrency", **name) if found else {}
    role = resolve(function.properties["Role"], part, site)
    faults = judge_function(found, reserved, function, role, site.restore(part))
    return faults, "active"


def judge_function(
    found: Mapping[str, Any] | None,
    reserved: Mapping[str, Any],
    function: Resource,
    role: str,
    restore: str,
) -> Iterator[Fault]:
    """Find why a function would not run, or not as what it was deployed."""
    if found is None:
        yield Fault("it is gone", restore)
        return
    state, update = found.get("State"), found.get("LastUpdateStatus")
    if state not in READY:
        passing = State.WARNING if state == "Pending" else State.PROBLEM
        yield Fault(f"it is {state} ({found.get('StateReasonCode')})", restore, passing)
    if update != "Successful":
        passing = State.WARNING if update == "InProgress" else State.PROBLEM
        seen = f"its last update is {update} ({found.get('LastUpdateStatusReasonCode')})"
        yield Fault(seen, restore, passing)
    if found.get("Role") != role:
        yield Fault(f"its role is {found.get('Role')}, and deployed was {role}", restore)
    wanted, limit = function.properties.get(RESERVED), reserved.get(RESERVED)
    if limit == 0:
        command = f"aws lambda put-function-concurrency --function-name {function.name}"
        free = f"aws lambda delete-function-concurrency --function-name {function.name}"
        do = f"{command} --reserved-concurrent-executions {wanted}" if wanted else free
        yield Fault("it is throttled to nothing: its reserved concurrency is 0", do)
    elif limit != wanted:
        seen = f"its reserved concurrency is {limit}, and deployed was {wanted}"
        yield Fault(seen, restore, State.WARNING)


def look_at_rule(aws: Aws, site: Site, part: Part, rule: Resource) -> Verdict:
    """Look at whether a schedule is on."""
    name = rule.name.rpartition("|")[2]  # behind the name of its bus, where it has one
    found = aws.find("events", "DescribeRule", Name=name)
    faults = []
    if found is None:
        faults = [Fault("it is gone", site.restore(part))]
    elif found.get("State") == "DISABLED":
        faults = [Fault("it is disabled", f"aws events enable-rule --name {name}")]
    every = (found or {}).get("ScheduleExpression", "")
    return faults, f"enabled, {every}".rstrip(", ")


def look_at_machine(aws: Aws, site: Site, part: Part, machine: Resource) -> Verdict:
    """Look at whether a state machine is there."""
    found = aws.find("stepfunctions", "DescribeStateMachine", stateMachineArn=machine.name)
    status = found.get("status", "ACTIVE") if found else "gone"
    faults = [] if status == "ACTIVE" else [Fault(f"it is {status}", site.restore(part))]
    return faults, "active"


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
