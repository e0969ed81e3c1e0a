"""Check that the functions can run, with the deployed settings, and that they may be invoked."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from json import dumps, loads
from typing import Any, Final

from adminview.aws.transport.eligibility import Fallback, deployed_fallback
from adminview.cli.deployment.deployment import DeployedStack, Deployment, Resource
from adminview.cli.deployment.stacks import FUNCTION
from adminview.cli.doctor.finding import Check, Fault, State, Verdict
from adminview.cli.doctor.grants import as_list
from adminview.cli.doctor.references import WEAK, resolve, stale_references
from adminview.model.errors import SettingsError

READY: Final = ("Active", "Inactive")  # Lambda reactivates an inactive one on invocation
RESERVED: Final = "ReservedConcurrentExecutions"
PERMISSION: Final = "AWS::Lambda::Permission"


def checks(deployment: Deployment) -> Iterator[Check]:
    for part, function in deployment.of(FUNCTION):
        run = partial(fetch_function, deployment, part, function)
        yield Check(f"function {function.label}", run)
        if permissions := [*_permissions(part, function)]:
            run = partial(fetch_callers, deployment, part, function, permissions)
            yield Check(f"callers of {function.label}", run)


def fetch_function(deployment: Deployment, part: DeployedStack, function: Resource) -> Verdict:
    aws, name = deployment.aws, {"FunctionName": function.name}
    configuration = aws.find("lambda", "GetFunctionConfiguration", **name)
    reserved = aws.call("lambda", "GetFunctionConcurrency", **name) if configuration else {}
    role = resolve(function.properties["Role"], part, deployment)
    faults = [*evaluate_function(configuration, reserved, function, role, deployment.restore(part))]
    if not configuration:
        return faults, ""
    deployed = function.properties.get("Environment", {}).get("Variables", {})
    expected = {name: _resolved(value, part, deployment) for name, value in deployed.items()}
    environment = configuration.get("Environment") or {}
    faults += evaluate_variables(environment, expected, deployment.restore(part))
    if not environment.get("Error"):
        faults += stale_references("it", function, configuration, part, deployment)
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
    """Return the value of a variable; None if no stack has it, or if the reference is weak."""
    if WEAK in dumps(value):
        return None  # `stale_references` compares it
    try:
        return resolve(value, part, deployment)
    except SettingsError:
        return None


def fetch_callers(
    deployment: Deployment,
    part: DeployedStack,
    function: Resource,
    permissions: Sequence[Mapping[str, Any]],
) -> Verdict:
    response = deployment.aws.find("lambda", "GetPolicy", FunctionName=function.name)
    statements = as_list(loads(response["Policy"]).get("Statement")) if response else []
    callers = {
        (str(permission["Principal"]), _source(permission, part, deployment))
        for permission in permissions
    }
    faults = [
        Fault(f"{_caller(*caller)} may not invoke it", deployment.restore(part))
        for caller in sorted(callers)
        if not any(_allows(statement, *caller) for statement in statements)
    ]
    return faults, f"allowed: {', '.join(sorted({service for service, _ in callers}))}"


def _permissions(part: DeployedStack, function: Resource) -> Iterator[Mapping[str, Any]]:
    """Yield the permissions of the template to invoke a function of the same stack."""
    references = ({"Ref": function.id}, {"Fn::GetAtt": [function.id, "Arn"]}, function.name)
    for permission in part.of(PERMISSION):
        if permission.properties.get("FunctionName") in references:
            yield permission.properties


def _source(permission: Mapping[str, Any], part: DeployedStack, deployment: Deployment) -> str:
    """Return the ARN on whose behalf a service may invoke; "" if it cannot be resolved."""
    try:
        return resolve(permission.get("SourceArn", ""), part, deployment)
    except SettingsError:
        return ""


def _allows(statement: Mapping[str, Any], service: str, source: str) -> bool:
    principal = statement.get("Principal")
    services = as_list(principal.get("Service")) if isinstance(principal, dict) else []
    conditions = (statement.get("Condition") or {}).values()
    sources = [value for keys in conditions for key, value in keys.items() if _is_source(key)]
    return (
        statement.get("Effect") == "Allow"
        and service in services
        and (not source or not sources or source in sources)
    )


def _is_source(key: str) -> bool:
    return key.lower() == "aws:sourcearn"


def _caller(service: str, source: str) -> str:
    return f"{service} ({source})" if source else service
