"""Whether those who are to call a function may."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from json import loads
from typing import Any, Final

from adminview.cli.deployment.aws_calls import Aws
from adminview.cli.deployment.deployment import DeployedStack, Deployment, Resource
from adminview.cli.deployment.stacks import FUNCTION
from adminview.cli.doctor.finding import Check, Fault, Verdict
from adminview.cli.doctor.grants import several
from adminview.cli.doctor.references import resolve
from adminview.model.errors import SettingsError

PERMISSION: Final = "AWS::Lambda::Permission"


def checks(aws: Aws, deployment: Deployment) -> Iterator[Check]:
    """List what is to be looked at."""
    for part, one in deployment.of(FUNCTION):
        if permissions := [*_permissions(part, one)]:
            look = partial(fetch_callers, aws, deployment, part, one, permissions)
            yield Check(f"callers of {one.label}", look)


def fetch_callers(
    aws: Aws,
    deployment: Deployment,
    part: DeployedStack,
    function: Resource,
    permissions: Sequence[Mapping[str, Any]],
) -> Verdict:
    """Look at who may call a function."""
    found = aws.find("lambda", "GetPolicy", FunctionName=function.name)
    statements = several(loads(found["Policy"]).get("Statement")) if found else []
    wanted = {(str(one["Principal"]), _source(one, part, deployment)) for one in permissions}
    lost = [one for one in sorted(wanted) if not any(_allows(told, *one) for told in statements)]
    faults = [Fault(f"{_caller(*one)} may not call it", deployment.restore(part)) for one in lost]
    return faults, f"all may call it that must: {', '.join(sorted({who for who, _ in wanted}))}"


def _permissions(part: DeployedStack, function: Resource) -> Iterator[Mapping[str, Any]]:
    """List who was deployed to call a function of the same stack."""
    ways = ({"Ref": function.id}, {"Fn::GetAtt": [function.id, "Arn"]}, function.name)
    for one in part.of(PERMISSION):
        if one.properties.get("FunctionName") in ways:
            yield one.properties


def _source(permission: Mapping[str, Any], part: DeployedStack, deployment: Deployment) -> str:
    """Say on whose behalf a service may call; "" if that cannot be told."""
    try:
        return resolve(permission.get("SourceArn", ""), part, deployment)
    except SettingsError:
        return ""


def _allows(statement: Mapping[str, Any], service: str, source: str) -> bool:
    principal = statement.get("Principal")
    services = several(principal.get("Service")) if isinstance(principal, dict) else []
    conditions = (statement.get("Condition") or {}).values()
    sources = [value for one in conditions for key, value in one.items() if _is_source(key)]
    return (
        statement.get("Effect") == "Allow"
        and service in services
        and (not source or not sources or source in sources)
    )


def _is_source(key: str) -> bool:
    return key.lower() == "aws:sourcearn"


def _caller(service: str, source: str) -> str:
    return f"{service} ({source})" if source else service
