"""Check that the functions can run, with the deployed settings."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from adminview.aws.aws_calls import Aws
from adminview.aws.transport.eligibility import Fallback, deployed_fallback
from adminview.cli.deployment.deployment import DeployedStack, Deployment, Resource
from adminview.cli.deployment.stacks import FUNCTION
from adminview.cli.doctor.finding import Check, Fault, State, Verdict
from adminview.cli.doctor.references import resolve
from adminview.model.errors import SettingsError

READY: Final = ("Active", "Inactive")  # Lambda reactivates an inactive one on invocation
RESERVED: Final = "ReservedConcurrentExecutions"


def checks(aws: Aws, deployment: Deployment) -> Iterator[Check]:
    for part, function in deployment.of(FUNCTION):
        run = partial(fetch_function, aws, deployment, part, function)
        yield Check(f"function {function.label}", run)


def fetch_function(
    aws: Aws, deployment: Deployment, part: DeployedStack, function: Resource
) -> Verdict:
    name = {"FunctionName": function.name}
    configuration = aws.find("lambda", "GetFunctionConfiguration", **name)
    reserved = aws.call("lambda", "GetFunctionConcurrency", **name) if configuration else {}
    role = resolve(function.properties["Role"], part, deployment)
    faults = [*evaluate_function(configuration, reserved, function, role, deployment.restore(part))]
    if not configuration:
        return faults, ""
    deployed = function.properties.get("Environment", {}).get("Variables", {})
    expected = {
        variable: _resolved(value, part, deployment) for variable, value in deployed.items()
    }
    environment = configuration.get("Environment") or {}
    faults += evaluate_variables(environment, expected, deployment.restore(part))
    reason = deployed_fallback(environment.get("Variables", {}), _region(configuration))
    if reason and reason.setting not in deployed:
        faults.append(evaluate_fallback(reason, deployment.restore(part)))
    return faults, f"active; it uses boto3: {reason}" if reason else "active"


def evaluate_fallback(reason: Fallback, restore: str) -> Fault:
    """Report a function that uses boto3 although its template does not require it."""
    problem = f"it uses boto3 instead of the direct client, which is slower: {reason}"
    return Fault(problem, f"if {reason.setting} is not needed, {restore}", State.WARNING)


def _region(function: Mapping[str, Any]) -> str:
    return str(function["FunctionArn"]).split(":")[3]


def evaluate_function(
    configuration: Mapping[str, Any] | None,
    reserved: Mapping[str, Any],
    function: Resource,
    role: str,
    restore: str,
) -> Iterator[Fault]:
    """Report why a function would not run, or not as it was deployed."""
    if configuration is None:
        yield Fault("it is deleted", restore)
        return
    state, update = configuration.get("State"), configuration.get("LastUpdateStatus")
    if state not in READY:
        severity = State.WARNING if state == "Pending" else State.PROBLEM
        yield Fault(f"it is {state} ({configuration.get('StateReasonCode')})", restore, severity)
    if update != "Successful":
        severity = State.WARNING if update == "InProgress" else State.PROBLEM
        problem = f"its last update is {update} ({configuration.get('LastUpdateStatusReasonCode')})"
        yield Fault(problem, restore, severity)
    if configuration.get("Role") != role:
        yield Fault(f"its role is {configuration.get('Role')}, but {role} was deployed", restore)
    yield from _concurrency_faults(reserved.get(RESERVED), function, restore)


def _concurrency_faults(limit: int | None, function: Resource, restore: str) -> Iterator[Fault]:
    expected = function.properties.get(RESERVED)
    # CloudFormation does not revert drift of a property that the template omits.
    free = f"aws lambda delete-function-concurrency --function-name {function.name}"
    if limit == 0:
        command = f"aws lambda put-function-concurrency --function-name {function.name}"
        advice = f"{command} --reserved-concurrent-executions {expected}" if expected else free
        yield Fault("it cannot run: its reserved concurrency is 0", advice)
    elif limit != expected:
        problem = f"its reserved concurrency is {limit}, but {expected or 'none'} was deployed"
        yield Fault(problem, restore if expected else free, State.WARNING)


def evaluate_variables(
    environment: Mapping[str, Any], expected: Mapping[str, str | None], restore: str
) -> Iterator[Fault]:
    """Report missing and changed variables without their values; None expects any value."""
    if error := environment.get("Error"):
        problem = f"its variables cannot be read: AWS answered {error.get('ErrorCode')}"
        yield Fault(problem, "allow kms:Decrypt for the credentials of this command", State.UNKNOWN)
        return
    variables = environment.get("Variables", {})
    if missing := [name for name in expected if name not in variables]:
        yield Fault(f"missing variables: {', '.join(sorted(missing))}", restore)
    changed = [
        name
        for name, value in expected.items()
        if value is not None and variables.get(name, value) != value
    ]
    if changed:
        yield Fault(f"changed variables: {', '.join(sorted(changed))}", restore)


def _resolved(value: Any, part: DeployedStack, deployment: Deployment) -> str | None:
    try:
        return resolve(value, part, deployment)
    except SettingsError:  # no stack has its value
        return None
