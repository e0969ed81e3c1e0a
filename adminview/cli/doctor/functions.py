"""Whether the functions can run, and are told what they were deployed with."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from adminview.aws.transport.eligibility import Fallback, deployed_fallback
from adminview.cli.deployment.aws_calls import Aws
from adminview.cli.deployment.deployment import DeployedStack, Deployment, Resource
from adminview.cli.deployment.stacks import FUNCTION
from adminview.cli.doctor.finding import Check, Fault, State, Verdict
from adminview.cli.doctor.references import resolve
from adminview.model.errors import SettingsError

READY: Final = ("Active", "Inactive")  # the latter was idle for long, and wakes when it is asked
RESERVED: Final = "ReservedConcurrentExecutions"


def checks(aws: Aws, deployment: Deployment) -> Iterator[Check]:
    """List what is to be looked at."""
    for part, one in deployment.of(FUNCTION):
        yield Check(f"function {one.label}", partial(fetch_function, aws, deployment, part, one))


def fetch_function(
    aws: Aws, deployment: Deployment, part: DeployedStack, function: Resource
) -> Verdict:
    """Look at whether a function can be invoked."""
    name = {"FunctionName": function.name}
    found = aws.find("lambda", "GetFunctionConfiguration", **name)
    reserved = aws.ask("lambda", "GetFunctionConcurrency", **name) if found else {}
    role = resolve(function.properties["Role"], part, deployment)
    faults = [*evaluate_function(found, reserved, function, role, deployment.restore(part))]
    if not found:
        return faults, ""
    deployed = function.properties.get("Environment", {}).get("Variables", {})
    expected = {variable: _settled(value, part, deployment) for variable, value in deployed.items()}
    environment = found.get("Environment") or {}
    faults += evaluate_variables(environment, expected, deployment.restore(part))
    reason = deployed_fallback(environment.get("Variables", {}), _region(found))
    if reason and reason.setting not in deployed:
        faults.append(evaluate_fallback(reason, deployment.restore(part)))
    return faults, f"active; it uses boto3: {reason}" if reason else "active"


def evaluate_fallback(reason: Fallback, restore: str) -> Fault:
    """Report a function that uses boto3 though it was not deployed so."""
    seen = f"it uses boto3 instead of the direct client, which is slower: {reason}"
    return Fault(seen, f"if nobody needs {reason.setting}, {restore}", State.WARNING)


def _region(function: Mapping[str, Any]) -> str:
    """Read the region of a function from its ARN."""
    return str(function["FunctionArn"]).split(":")[3]


def evaluate_function(
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
    yield from _concurrency_faults(reserved.get(RESERVED), function, restore)


def _concurrency_faults(limit: int | None, function: Resource, restore: str) -> Iterator[Fault]:
    wanted = function.properties.get(RESERVED)
    # What a template does not speak of is no drift to CloudFormation, and is not reverted.
    free = f"aws lambda delete-function-concurrency --function-name {function.name}"
    if limit == 0:
        command = f"aws lambda put-function-concurrency --function-name {function.name}"
        do = f"{command} --reserved-concurrent-executions {wanted}" if wanted else free
        yield Fault("it is throttled to nothing: its reserved concurrency is 0", do)
    elif limit != wanted:
        seen = f"its reserved concurrency is {limit}, and deployed was {wanted}"
        yield Fault(seen, restore if wanted else free, State.WARNING)


def evaluate_variables(
    found: Mapping[str, Any], wanted: Mapping[str, str | None], restore: str
) -> Iterator[Fault]:
    """Find variables that are lost or changed; values are told to nobody, None is any."""
    if error := found.get("Error"):
        seen = f"its variables cannot be read: AWS answered {error.get('ErrorCode')}"
        yield Fault(seen, "let whoever runs this call kms:Decrypt", State.UNKNOWN)
        return
    told = found.get("Variables", {})
    if lost := [name for name in wanted if name not in told]:
        yield Fault(f"it is not told {', '.join(sorted(lost))}", restore)
    others = [
        name
        for name, value in wanted.items()
        if value is not None and told.get(name, value) != value
    ]
    if others:
        seen = f"{', '.join(sorted(others))}: set to something else than was deployed"
        yield Fault(seen, restore)


def _settled(value: Any, part: DeployedStack, deployment: Deployment) -> str | None:
    try:
        return resolve(value, part, deployment)
    except SettingsError:  # it stands for what no stack tells
        return None
