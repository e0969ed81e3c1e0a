"""The subnets that functions run in, as cdk.json's `vpc` names them.

docs/configuration.md says which endpoints they must have. No policy asks for such an endpoint: the
event source mapping reads streams and leaves letters by the function's role from outside.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from adminview.cdk.options.context import given_or, is_nothing, lists_nothing, read_object
from adminview.model.errors import SettingsError

SUBNETS, GROUPS, STREAMS = "subnetIds", "securityGroupIds", "streamsEndpoint"
KEYS: Final = (SUBNETS, GROUPS, STREAMS)
# What each list holds, and how many of it Lambda takes.
LISTS: Final = {
    SUBNETS: (re.compile(r"subnet-[0-9a-f]{8,17}"), "subnet-0123456789abcdef0", 16),
    GROUPS: (re.compile(r"sg-[0-9a-f]{8,17}"), "sg-0123456789abcdef0", 5),
}
URL: Final = re.compile(r"https://[a-z0-9.-]+")
EXAMPLE: Final = '{"subnetIds": ["subnet-…", "subnet-…"], "securityGroupIds": ["sg-…"]}'
# The SDK looks here for the endpoint of DynamoDB Streams, which has no private name of its own.
STREAMS_URL: Final = "AWS_ENDPOINT_URL_DYNAMODB_STREAMS"


@dataclass(frozen=True, slots=True)
class Network:
    """Subnets and security groups that exist already, and how streams are reached from there."""

    subnet_ids: tuple[str, ...]
    security_group_ids: tuple[str, ...]
    streams_endpoint: str = ""  # none: by their public name

    @classmethod
    def read(cls, given: object) -> "Network | None":
        """Read the context's `vpc`, or say what is wrong in it; none if it is empty."""
        entries = read_object("vpc", given, example=EXAMPLE, known=KEYS)
        if not entries:
            return None
        for problem in (*_list_problems(entries), *_url_problems(entries)):
            msg = f"context vpc: {problem}"
            raise SettingsError(msg)
        return cls(
            tuple(entries[SUBNETS]), tuple(entries[GROUPS]), given_or(entries.get(STREAMS), "")
        )

    @property
    def vpc_config(self) -> lambda_.CfnFunction.VpcConfigProperty:
        """Say it as Lambda takes it; a VPC of the CDK would have to be looked up."""
        return lambda_.CfnFunction.VpcConfigProperty(
            subnet_ids=[*self.subnet_ids], security_group_ids=[*self.security_group_ids]
        )

    @property
    def unnamed(self) -> list[str]:
        """List the wildcards of *statements* but for "*", as cdk-nag spells them."""
        place = "arn:<AWS::Partition>:ec2:<AWS::Region>:<AWS::AccountId>"
        return [f"{place}:network-interface/*", f"{place}:*/*"]

    def environment(self) -> dict[str, str]:
        """Tell a function that reads streams where they are."""
        return {STREAMS_URL: self.streams_endpoint} if self.streams_endpoint else {}

    def statements(self, scope: Construct) -> list[iam.PolicyStatement]:
        """Allow what Lambda does, by a function's role, to connect it to the subnets."""
        stack = Stack.of(scope)

        def arn(kind: str, name: str) -> str:
            return stack.format_arn(service="ec2", resource=kind, resource_name=name)

        return [
            # Only there, and with these groups; the interface itself has no name yet.
            iam.PolicyStatement(
                actions=["ec2:CreateNetworkInterface"],
                resources=[
                    arn("network-interface", "*"),
                    *(arn("security-group", one) for one in self.security_group_ids),
                    *(arn("subnet", one) for one in self.subnet_ids),
                ],
            ),
            # Lambda tries these out without naming an interface, and refuses the function unless
            # they are allowed on everything: of this account and region, that is.
            iam.PolicyStatement(
                actions=[
                    "ec2:AssignPrivateIpAddresses",
                    "ec2:DeleteNetworkInterface",
                    "ec2:UnassignPrivateIpAddresses",
                ],
                resources=[arn("*", "*")],
            ),
            # EC2 knows no resources for what only describes.
            iam.PolicyStatement(
                actions=["ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets"], resources=["*"]
            ),
        ]


def _list_problems(given: Mapping[str, Any]) -> Iterator[str]:
    for key, (pattern, example, limit) in LISTS.items():
        ids = given.get(key)
        if lists_nothing(ids):
            yield f"{key} is missing; functions need both lists, as in {EXAMPLE}"
        elif not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
            yield f"{key} {ids!r} is not a list, such as ['{example}']"
        elif wrong := [one for one in ids if not pattern.fullmatch(one)]:
            yield f"{key} has {wrong[0]!r}, which is not an id such as {example}"
        elif len(ids) > limit or len({*ids}) < len(ids):
            yield f"{key} has {len(ids)} ids; Lambda takes {limit} at most, each once"


def _url_problems(given: Mapping[str, Any]) -> Iterator[str]:
    url = given.get(STREAMS)
    if not is_nothing(url) and not (isinstance(url, str) and URL.fullmatch(url)):
        yield (
            f"{STREAMS} {url!r} is not the URL of an endpoint, such as "
            "https://vpce-….streams.dynamodb.<region>.vpce.amazonaws.com"
        )
