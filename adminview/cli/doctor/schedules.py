"""Check that schedules and state machines exist, are enabled, and have the right targets."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from adminview.aws.aws_calls import AwsCallError
from adminview.cli.deployment.deployment import DeployedStack, Deployment, Resource
from adminview.cli.doctor.finding import Check, Fault, Verdict, unchecked_fault
from adminview.cli.doctor.references import resolve, stale_references

RULE: Final = "AWS::Events::Rule"
MACHINE: Final = "AWS::StepFunctions::StateMachine"


def checks(deployment: Deployment) -> Iterator[Check]:
    for part, rule in deployment.of(RULE):
        yield Check(f"schedule {rule.label}", partial(fetch_rule, deployment, part, rule))
    for part, machine in deployment.of(MACHINE):
        run = partial(fetch_machine, deployment, part, machine)
        yield Check(f"state machine {machine.label}", run)


def fetch_rule(deployment: Deployment, part: DeployedStack, rule: Resource) -> Verdict:
    name = _name(rule)
    described = deployment.aws.find("events", "DescribeRule", Name=name)
    if described is None:
        return [Fault("it is deleted", deployment.restore(part))], ""
    faults = [*_target_faults(deployment, part, rule)]
    if described.get("State") == "DISABLED":
        faults.append(Fault("it is disabled", f"aws events enable-rule --name {name}"))
    return faults, f"enabled, {described.get('ScheduleExpression', '')}".rstrip(", ")


def _target_faults(deployment: Deployment, part: DeployedStack, rule: Resource) -> Iterator[Fault]:
    expected = [
        resolve(target["Arn"], part, deployment) for target in rule.properties.get("Targets", [])
    ]
    try:  # a rule has few targets: one page
        targets = deployment.aws.call("events", "ListTargetsByRule", Rule=_name(rule))["Targets"]
    except AwsCallError as error:
        yield unchecked_fault(error)
        return
    actual = {target["Arn"] for target in targets}
    for arn in expected:
        if arn not in actual:
            problem = f"it does not invoke {arn.rpartition(':')[2]}"
            yield Fault(problem, deployment.restore(part))


def _name(rule: Resource) -> str:
    """Return the name of a rule without its event bus."""
    return rule.name.rpartition("|")[2]


def fetch_machine(deployment: Deployment, part: DeployedStack, machine: Resource) -> Verdict:
    request = {"stateMachineArn": machine.name}
    described = deployment.aws.find("stepfunctions", "DescribeStateMachine", **request)
    status = described.get("status", "ACTIVE") if described else "deleted"
    if status != "ACTIVE":
        return [Fault(f"it is {status}", deployment.restore(part))], ""
    return stale_references("it", machine, described, part, deployment), "active"
