"""Whether what asks the functions is there, on, and asks the right ones."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from adminview.cli.deployment.resources import Part, Resource, Site
from adminview.cli.doctor.aws_calls import Aws, UnansweredError
from adminview.cli.doctor.finding import Check, Fault, Verdict
from adminview.cli.doctor.references import resolve

RULE: Final = "AWS::Events::Rule"
MACHINE: Final = "AWS::StepFunctions::StateMachine"


def checks(aws: Aws, site: Site) -> Iterator[Check]:
    """List what is to be looked at."""
    for part, one in site.of(RULE):
        yield Check(f"schedule {one.label}", partial(look_at_rule, aws, site, part, one))
    for part, one in site.of(MACHINE):
        yield Check(f"state machine {one.label}", partial(look_at_machine, aws, site, part, one))


def look_at_rule(aws: Aws, site: Site, part: Part, rule: Resource) -> Verdict:
    """Look at whether a schedule is on, and asks whom it should."""
    name = _name(rule)
    found = aws.find("events", "DescribeRule", Name=name)
    if found is None:
        return [Fault("it is gone", site.restore(part))], ""
    faults = [*_target_faults(aws, site, part, rule)]
    if found.get("State") == "DISABLED":
        faults.append(Fault("it is disabled", f"aws events enable-rule --name {name}"))
    return faults, f"enabled, {found.get('ScheduleExpression', '')}".rstrip(", ")


def _target_faults(aws: Aws, site: Site, part: Part, rule: Resource) -> Iterator[Fault]:
    wanted = [resolve(one["Arn"], part, site) for one in rule.properties.get("Targets", [])]
    try:  # a rule has few: they come at once
        told = aws.ask("events", "ListTargetsByRule", Rule=_name(rule))["Targets"]
    except UnansweredError as error:
        yield error.fault
        return
    asked = {one["Arn"] for one in told}
    for arn in wanted:
        if arn not in asked:
            seen = f"it asks nobody to run {arn.rpartition(':')[2]}"
            yield Fault(seen, site.restore(part))


def _name(rule: Resource) -> str:
    """Name a rule without the bus that may stand before."""
    return rule.name.rpartition("|")[2]


def look_at_machine(aws: Aws, site: Site, part: Part, machine: Resource) -> Verdict:
    """Look at whether a state machine is there."""
    found = aws.find("stepfunctions", "DescribeStateMachine", stateMachineArn=machine.name)
    status = found.get("status", "ACTIVE") if found else "gone"
    faults = [] if status == "ACTIVE" else [Fault(f"it is {status}", site.restore(part))]
    return faults, "active"
