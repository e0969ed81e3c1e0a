"""Check that the services that invoke a function are allowed to."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from json import loads
from typing import Any, Final

from adminview.aws.aws_calls import Aws
from adminview.cli.deployment.deployment import DeployedStack, Deployment, Resource
from adminview.cli.deployment.stacks import FUNCTION
from adminview.cli.doctor.finding import Check, Fault, Verdict
from adminview.cli.doctor.grants import as_list
from adminview.cli.doctor.references import resolve
from adminview.model.errors import SettingsError

PERMISSION: Final = "AWS::Lambda::Permission"


def checks(aws: Aws, deployment: Deployment) -> Iterator[Check]:
    for part, function in deployment.of(FUNCTION):
        if permissions := [*_permissions(part, function)]:
            run = partial(fetch_callers, aws, deployment, part, function, permissions)
            yield Check(f"callers of {function.label}", run)


def fetch_callers(
    aws: Aws,
    deployment: Deployment,
    part: DeployedStack,
    function: Resource,
    permissions: Sequence[Mapping[str, Any]],
) -> Verdict:
    response = aws.find("lambda", "GetPolicy", FunctionName=function.name)
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
