"""The option `vpc`: the subnets that functions run in.

docs/configuration.md says which endpoints they need. No policy requires such an endpoint: the event
source mapping uses the function's role from outside the VPC to read streams and send dead letters.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from adminview.aws.transport.eligibility import STREAMS_ENDPOINT
from adminview.cdk.options.context import is_empty, is_empty_list, read_object, value_or
from adminview.model.errors import SettingsError

SUBNETS, GROUPS, STREAMS = "subnetIds", "securityGroupIds", "streamsEndpoint"
KEYS: Final = (SUBNETS, GROUPS, STREAMS)
# Of each list: the form of an id, an example, and how many ids Lambda accepts.
LISTS: Final = {
    SUBNETS: (re.compile(r"subnet-[0-9a-f]{8,17}"), "subnet-0123456789abcdef0", 16),
    GROUPS: (re.compile(r"sg-[0-9a-f]{8,17}"), "sg-0123456789abcdef0", 5),
}
URL: Final = re.compile(r"https://[a-z0-9.-]+")
EXAMPLE: Final = '{"subnetIds": ["subnet-…", "subnet-…"], "securityGroupIds": ["sg-…"]}'


@dataclass(frozen=True, slots=True)
class Network:
    """Existing subnets and security groups, and the endpoint of DynamoDB Streams in them."""

    subnet_ids: tuple[str, ...]
    security_group_ids: tuple[str, ...]
    streams_endpoint: str = ""  # empty: the public endpoint

    @classmethod
    def read(cls, value: object) -> "Network | None":
        """Read the context's `vpc`, or raise a SettingsError; None if it is empty."""
        entries = read_object("vpc", value, example=EXAMPLE, known=KEYS)
        if not entries:
            return None
        for problem in (*_list_problems(entries), *_url_problems(entries)):
            msg = f"context vpc: {problem}"
            raise SettingsError(msg)
        return cls(
            tuple(entries[SUBNETS]), tuple(entries[GROUPS]), value_or(entries.get(STREAMS), "")
        )

    @property
    def vpc_config(self) -> lambda_.CfnFunction.VpcConfigProperty:
        """Return Lambda's own property: a VPC of the CDK would have to be looked up."""
        return lambda_.CfnFunction.VpcConfigProperty(
            subnet_ids=[*self.subnet_ids], security_group_ids=[*self.security_group_ids]
        )

    @property
    def wildcard_arns(self) -> list[str]:
        """Return the wildcards of `statements` except "*", in cdk-nag's notation."""
        place = "arn:<AWS::Partition>:ec2:<AWS::Region>:<AWS::AccountId>"
        return [f"{place}:network-interface/*", f"{place}:*/*"]

    def environment(self) -> dict[str, str]:
        """Return the variables of a function that reads streams.

        The SDK reads them: the VPC endpoint of DynamoDB Streams has no private DNS name.
        """
        return {STREAMS_ENDPOINT: self.streams_endpoint} if self.streams_endpoint else {}

    def statements(self, scope: Construct) -> list[iam.PolicyStatement]:
        """Return what Lambda does with a function's role to connect it to the subnets."""
        stack = Stack.of(scope)

        def arn(kind: str, name: str) -> str:
            return stack.format_arn(service="ec2", resource=kind, resource_name=name)

        return [
            # Only in these subnets and with these groups; the interface has no name yet.
            iam.PolicyStatement(
                actions=["ec2:CreateNetworkInterface"],
                resources=[
                    arn("network-interface", "*"),
                    *(arn("security-group", group) for group in self.security_group_ids),
                    *(arn("subnet", subnet) for subnet in self.subnet_ids),
                ],
            ),
            # Lambda checks these without naming an interface. It refuses the function unless they
            # are allowed on all resources of this account and region.
            iam.PolicyStatement(
                actions=[
                    "ec2:AssignPrivateIpAddresses",
                    "ec2:DeleteNetworkInterface",
                    "ec2:UnassignPrivateIpAddresses",
                ],
                resources=[arn("*", "*")],
            ),
            # EC2 supports no resources for Describe actions.
            iam.PolicyStatement(
                actions=["ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets"], resources=["*"]
            ),
        ]


def _list_problems(entries: Mapping[str, Any]) -> Iterator[str]:
    for key, (pattern, example, limit) in LISTS.items():
        ids = entries.get(key)
        if is_empty_list(ids):
            yield f"{key} is missing; functions need both lists, as in {EXAMPLE}"
        elif not isinstance(ids, list) or not all(isinstance(id_, str) for id_ in ids):
            yield f"{key} {ids!r} is not a list, such as ['{example}']"
        elif wrong := [id_ for id_ in ids if not pattern.fullmatch(id_)]:
            yield f"{key} has {wrong[0]!r}, which is not an id such as {example}"
        elif len(ids) > limit or len({*ids}) < len(ids):
            yield f"{key} has {len(ids)} ids; Lambda accepts at most {limit}, each once"


def _url_problems(entries: Mapping[str, Any]) -> Iterator[str]:
    url = entries.get(STREAMS)
    if not is_empty(url) and not (isinstance(url, str) and URL.fullmatch(url)):
        yield (
            f"{STREAMS} {url!r} is not the URL of an endpoint, such as "
            "https://vpce-….streams.dynamodb.<region>.vpce.amazonaws.com"
        )
