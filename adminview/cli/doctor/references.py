"""Resolve the references of a template to the deployed resources."""

from collections.abc import Iterator
from json import dumps
from typing import Any, Final

from adminview.cli.deployment.deployment import DeployedStack, Deployment, Resource
from adminview.cli.doctor.finding import Fault
from adminview.model.errors import SettingsError

WEAK: Final = "Fn::GetStackOutput"

PSEUDO: Final = {
    "AWS::Partition": 1,
    "AWS::Region": 3,
    "AWS::AccountId": 4,
}  # field of the stack's ARN
# The ARN of a resource from its name, for references that no output resolves.
ARNS: Final = {
    "AWS::DynamoDB::GlobalTable": "arn:{partition}:dynamodb:{region}:{account}:table/{name}",
    "AWS::IAM::Role": "arn:{partition}:iam::{account}:role/{name}",
    "AWS::KMS::Key": "arn:{partition}:kms:{region}:{account}:key/{name}",
    "AWS::Lambda::Function": "arn:{partition}:lambda:{region}:{account}:function:{name}",
    "AWS::Logs::LogGroup": "arn:{partition}:logs:{region}:{account}:log-group:{name}:*",
    "AWS::SQS::Queue": "arn:{partition}:sqs:{region}:{account}:{name}",
}


def resolve(value: Any, part: DeployedStack, deployment: Deployment) -> str:
    """Return the value of a template expression; raise SettingsError if it is not supported."""
    match value:
        case str():
            return value
        case {"Ref": str(id_)} if id_ in PSEUDO:
            return part.id.split(":")[PSEUDO[id_]]
        case {"Ref": str(id_)}:
            return _resource(part, id_, value).name
        case {"Fn::GetAtt": [id_, "Arn"]}:
            return arn_of(_resource(part, id_, value), part)
    return _resolve_function(value, part, deployment)


def _resolve_function(value: Any, part: DeployedStack, deployment: Deployment) -> str:
    match value:
        case {"Fn::Join": [str(separator), [*parts]]}:
            return separator.join(resolve(element, part, deployment) for element in parts)
        case {"Fn::Select": [position, {"Fn::Split": [str(separator), text]}]}:
            return resolve(text, part, deployment).split(separator)[int(position)]
        case {"Fn::ImportValue": str(export)}:
            # CDK exports an output of a stack as "stack:output".
            stack, _, output = export.partition(":")
            return _output(deployment, stack, output, value)
        case {"Fn::GetStackOutput": {"StackName": str(stack), "OutputName": str(output)}}:
            return _output(deployment, stack, output, value)
    raise _unresolved(value)


def arn_of(resource: Resource, part: DeployedStack) -> str:
    """Return the ARN of a resource; raise SettingsError if its kind is not supported."""
    if resource.name.startswith("arn:"):
        return resource.name
    if resource.kind not in ARNS:
        raise _unresolved(resource.id)
    _, partition, _, region, account, *_ = part.id.split(":")
    fields = {"partition": partition, "region": region, "account": account}
    is_url = resource.kind == "AWS::SQS::Queue"
    name = resource.name.rpartition("/")[2] if is_url else resource.name
    return ARNS[resource.kind].format(name=name, **fields)


def stale_references(
    name: str, resource: Resource, actual: Any, part: DeployedStack, deployment: Deployment
) -> Iterator[Fault]:
    """Report the weak references of a resource that were resolved to older values.

    CloudFormation resolves them only when it updates the stack, and the CDK skips a stack whose
    template is unchanged. *actual* is the resource as its service describes it.
    """
    text = dumps(actual, default=str)
    stale = {
        value for value in _weak_values(resource.properties, part, deployment) if value not in text
    }
    if stale:
        refresh = f"{deployment.deploy(part)} --exclusively --force"
        yield Fault(
            f"{name} refers to older resources: {', '.join(sorted(stale))} is deployed",
            f"{refresh} (docs/runbook.md#stale-references)",
        )


def _weak_values(value: Any, part: DeployedStack, deployment: Deployment) -> Iterator[str]:
    """Yield what the weak references in a property of a template resolve to now."""
    match value:
        case {"Fn::GetStackOutput": _} | {"Fn::Select": _} if WEAK in dumps(value):
            yield resolve(value, part, deployment)
        case dict():
            for element in value.values():
                yield from _weak_values(element, part, deployment)
        case list():
            for element in value:
                yield from _weak_values(element, part, deployment)


def _resource(part: DeployedStack, id_: str, value: object) -> Resource:
    for resource in part.resources:
        if resource.id == id_:
            return resource
    raise _unresolved(value)


def _output(deployment: Deployment, stack: str, output: str, value: object) -> str:
    for part in deployment.parts.values():
        if part.name == stack and part.stack and output in part.stack.outputs:
            return part.stack.outputs[output]
    raise _unresolved(value)


def _unresolved(value: object) -> SettingsError:
    return SettingsError(f"cannot resolve {value} of a template")
