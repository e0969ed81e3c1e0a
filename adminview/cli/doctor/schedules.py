"""Whether what asks the functions is there, on, and asks the right ones."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from adminview.cli.deployment.aws_calls import Aws, UnansweredError
from adminview.cli.deployment.deployment import DeployedStack, Deployment, Resource
from adminview.cli.doctor.finding import Check, Fault, Verdict, fault_of
from adminview.cli.doctor.references import resolve

RULE: Final = "AWS::Events::Rule"
MACHINE: Final = "AWS::StepFunctions::StateMachine"


def checks(aws: Aws, deployment: Deployment) -> Iterator[Check]:
    """List what is to be looked at."""
    for part, one in deployment.of(RULE):
        yield Check(f"schedule {one.label}", partial(fetch_rule, aws, deployment, part, one))
    for part, one in deployment.of(MACHINE):
        yield Check(
            f"state machine {one.label}", partial(fetch_machine, aws, deployment, part, one)
        )


def fetch_rule(aws: Aws, deployment: Deployment, part: DeployedStack, rule: Resource) -> Verdict:
    """Look at whether a schedule is on, and asks whom it should."""
    name = _name(rule)
    found = aws.find("events", "DescribeRule", Name=name)
    if found is None:
        return [Fault("it is gone", deployment.restore(part))], ""
    faults = [*_target_faults(aws, deployment, part, rule)]
    if found.get("State") == "DISABLED":
        faults.append(Fault("it is disabled", f"aws events enable-rule --name {name}"))
    return faults, f"enabled, {found.get('ScheduleExpression', '')}".rstrip(", ")


def _target_faults(
    aws: Aws, deployment: Deployment, part: DeployedStack, rule: Resource
) -> Iterator[Fault]:
    wanted = [resolve(one["Arn"], part, deployment) for one in rule.properties.get("Targets", [])]
    try:  # a rule has few: they come at once
        told = aws.ask("events", "ListTargetsByRule", Rule=_name(rule))["Targets"]
    except UnansweredError as error:
        yield fault_of(error)
        return
    asked = {one["Arn"] for one in told}
    for arn in wanted:
        if arn not in asked:
            seen = f"it asks nobody to run {arn.rpartition(':')[2]}"
            yield Fault(seen, deployment.restore(part))


def _name(rule: Resource) -> str:
    """Name a rule without the bus that may stand before."""
    return rule.name.rpartition("|")[2]


def fetch_machine(
    aws: Aws, deployment: Deployment, part: DeployedStack, machine: Resource
) -> Verdict:
    """Look at whether a state machine is there."""
    found = aws.find("stepfunctions", "DescribeStateMachine", stateMachineArn=machine.name)
    status = found.get("status", "ACTIVE") if found else "gone"
    faults = [] if status == "ACTIVE" else [Fault(f"it is {status}", deployment.restore(part))]
    return faults, "active"
