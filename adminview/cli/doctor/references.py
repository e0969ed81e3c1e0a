"""What the references of a template stand for, in what was made from it."""

from typing import Any, Final

from adminview.cli.deployment.deployment import DeployedStack, Deployment, Resource
from adminview.model.errors import SettingsError

PSEUDO: Final = {"AWS::Partition": 1, "AWS::Region": 3, "AWS::AccountId": 4}  # fields of an ARN
# The ARN of a resource by its name, where CloudFormation's own answer is not in any output.
ARNS: Final = {
    "AWS::DynamoDB::GlobalTable": "arn:{partition}:dynamodb:{region}:{account}:table/{name}",
    "AWS::IAM::Role": "arn:{partition}:iam::{account}:role/{name}",
    "AWS::KMS::Key": "arn:{partition}:kms:{region}:{account}:key/{name}",
    "AWS::Lambda::Function": "arn:{partition}:lambda:{region}:{account}:function:{name}",
    "AWS::Logs::LogGroup": "arn:{partition}:logs:{region}:{account}:log-group:{name}:*",
    "AWS::SQS::Queue": "arn:{partition}:sqs:{region}:{account}:{name}",
}


def resolve(value: Any, part: DeployedStack, deployment: Deployment) -> str:
    """Say what a value of a stack's template is now; raise a SettingsError if it cannot be told."""
    match value:
        case str():
            return value
        case {"Ref": str(id_)} if id_ in PSEUDO:
            return part.id.split(":")[PSEUDO[id_]]
        case {"Ref": str(id_)}:
            return _made(part, id_, value).name
        case {"Fn::GetAtt": [id_, "Arn"]}:
            return arn_of(_made(part, id_, value), part)
    return _put_together(value, part, deployment)


def _put_together(value: Any, part: DeployedStack, deployment: Deployment) -> str:
    match value:
        case {"Fn::Join": [str(between), [*pieces]]}:
            return between.join(resolve(one, part, deployment) for one in pieces)
        case {"Fn::Select": [position, {"Fn::Split": [str(by), whole]}]}:
            return resolve(whole, part, deployment).split(by)[int(position)]
        case {"Fn::ImportValue": str(export)}:
            # CDK exports an output of a stack as "stack:output".
            stack, _, output = export.partition(":")
            return _output(deployment, stack, output, value)
        case {"Fn::GetStackOutput": {"StackName": str(stack), "OutputName": str(output)}}:
            return _output(deployment, stack, output, value)
    raise _unclear(value)


def arn_of(resource: Resource, part: DeployedStack) -> str:
    """Name a resource in full."""
    if resource.name.startswith("arn:"):
        return resource.name
    if resource.kind not in ARNS:
        raise _unclear(resource.id)
    _, partition, _, region, account, *_ = part.id.split(":")
    place = {"partition": partition, "region": region, "account": account}
    is_url = resource.kind == "AWS::SQS::Queue"
    name = resource.name.rpartition("/")[2] if is_url else resource.name
    return ARNS[resource.kind].format(name=name, **place)


def _made(part: DeployedStack, id_: str, value: object) -> Resource:
    for one in part.resources:
        if one.id == id_:
            return one
    raise _unclear(value)


def _output(deployment: Deployment, stack: str, output: str, value: object) -> str:
    for part in deployment.parts.values():
        if part.name == stack and part.stack and output in part.stack.outputs:
            return part.stack.outputs[output]
    raise _unclear(value)


def _unclear(value: object) -> SettingsError:
    return SettingsError(f"it cannot be told what {value} of a template stands for")
