"""A deployment: its stacks and their resources, each read once.

Every command makes one `Deployment` and passes it on. Code that must see changes calls `fresh`.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from json import loads
from typing import Any, ClassVar, Final

from botocore.exceptions import BotoCoreError

from adminview.aws.aws_calls import Aws, unexpected_response
from adminview.aws.endpoints import ENDPOINT
from adminview.aws.readiness import record_in, record_request
from adminview.aws.retry import NEXT_TOKEN, all_pages
from adminview.aws.settings import (
    MAPPINGS_OUTPUT,
    PATTERNS_OUTPUT,
    SETTINGS_OUTPUT,
    Settings,
)
from adminview.aws.stack_outputs import STAGE, StackOutputs
from adminview.aws.table_description import TableDescription
from adminview.cli.deployment.stacks import API, NOTHING, PARTS, RETAINED, SYNC, TABLE, Stack
from adminview.cli.endpoints import check_endpoints
from adminview.cli.model_lock.lock import validate_description
from adminview.cli.model_lock.model_diff import Description
from adminview.model.errors import AdminViewError, SettingsError
from adminview.model.readiness import PATTERNS, not_ready, progress_table

HASH: Final = re.compile(r"[0-9A-F]{8}$")  # the suffix that CDK appends to construct names


@dataclass(frozen=True, slots=True)
class Resource:
    id: str  # the logical id
    kind: str
    name: str  # the physical id: a name, an id, an ARN or a URL
    properties: Mapping[str, Any]  # in the template

    @property
    def label(self) -> str:
        """The logical id without the hash of CDK."""
        return HASH.sub("", self.id)


@dataclass(frozen=True, slots=True)
class DeployedStack:
    """A stack with its resources, as far as it exists and can be read."""

    name: str
    id: str = ""  # "" if it does not exist
    status: str = ""
    stack: Stack | None = None  # None if it was never created, or cannot be read
    resources: tuple[Resource, ...] = ()
    trouble: AdminViewError | None = None  # why it cannot be read
    protected: bool = False  # whether CloudFormation refuses to delete it

    @classmethod
    def read(cls, aws: Aws, name: str) -> "DeployedStack":
        """Read a stack; an error is kept in `trouble`, not raised."""
        part = cls(name)
        try:
            response = aws.find("cloudformation", "DescribeStacks", StackName=name)
            if response is None:
                return part
            described = response["Stacks"][0]
            part = cls(
                name,
                str(described["StackId"]),
                str(described["StackStatus"]),
                protected=bool(described.get("EnableTerminationProtection")),
            )
            if part.status in NOTHING:
                return part
            template = aws.call("cloudformation", "GetTemplate", StackName=name)["TemplateBody"]
            stack = Stack.of(name, described, template)
            resources = tuple(_resources(aws, name, stack))
            return replace(part, stack=stack, resources=resources)
        except AdminViewError as error:
            return replace(part, trouble=error)
        except BotoCoreError:  # no client can be created: not the fault of a stack
            raise
        except Exception as error:  # noqa: BLE001 - one bad response must not hide the other stacks
            return replace(part, trouble=SettingsError(unexpected_response(error)))

    def of(self, *kinds: str) -> list[Resource]:
        """Return the resources of these kinds."""
        return [resource for resource in self.resources if resource.kind in kinds]

    @property
    def retains_tables(self) -> bool:
        """Whether a table of the stack outlives it."""
        declared = self.stack.template.get("Resources", {}).values() if self.stack else ()
        return any(
            resource.get("Type") == TABLE and resource.get("DeletionPolicy") in RETAINED
            for resource in declared
        )

    def output(self, name: str) -> Any:
        """Return an output that is JSON; raise SettingsError if it is missing or invalid."""
        try:
            return loads(self.stack.outputs[name] if self.stack else "")
        except (LookupError, ValueError) as error:
            msg = (
                f"stack {self.name!r} has no valid output {name!r}: deploy this version of "
                "AdminView first"
            )
            raise SettingsError(msg) from error

    def description(self) -> Description | None:
        """Return the model it was deployed with; None if its template has none."""
        model = self.stack.description() if self.stack else None
        return (
            validate_description(model, f"the template of stack {self.name!r}") if model else None
        )


@dataclass(frozen=True, slots=True)
class Deployment(StackOutputs):
    """The stacks of a stage and prefix, or the tables that the environment names instead."""

    naming: ClassVar[str] = (
        f"name the deployment with --stage and --prefix, or set only {ENDPOINT} to use a local "
        "engine"
    )

    _parts: dict[str, DeployedStack] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def from_options(
        cls, stage: str | None, prefix: str, environ: Mapping[str, str] = os.environ
    ) -> "Deployment":
        """Return the deployment that a command's options name; without options, stage dev."""
        return cls(Aws(), stage or STAGE, prefix, environ, bool(stage or prefix))

    def fresh(self) -> "Deployment":
        """Return the same deployment with an empty cache."""
        return replace(self, aws=self.aws.fresh(), _parts={})

    def stack(self, part: str) -> Stack | None:
        """Read a stack with its template; None if it was never created."""
        described, name = self.described(part), self.name_of(part)
        if described is None or described["StackStatus"] in NOTHING:
            return None
        template = self.aws.call("cloudformation", "GetTemplate", StackName=name)["TemplateBody"]
        return Stack.of(name, described, template)

    def table(self, name: str) -> TableDescription | None:
        """Describe a table; None if it does not exist."""
        described = self.aws.find("dynamodb", "DescribeTable", TableName=name)
        return TableDescription.of(described["Table"]) if described else None

    def check_endpoint(self) -> None:
        """Raise an error if a custom endpoint is not a URL, or does not respond."""
        check_endpoints(self.environ, "CLOUDFORMATION")

    @property
    def parts(self) -> Mapping[str, DeployedStack]:
        """All stacks with their resources; an error of one is kept in it, not raised."""
        return {part: self.part(part) for part in PARTS}

    def part(self, name: str) -> DeployedStack:
        """Read a stack with its resources, whether it exists or not."""
        if name not in self._parts:
            self._parts[name] = DeployedStack.read(self.aws, self.name_of(name))
        return self._parts[name]

    def of(self, *kinds: str) -> Iterator[tuple[DeployedStack, Resource]]:
        """Return the resources of these kinds in all stacks."""
        return ((part, resource) for part in self.parts.values() for resource in part.of(*kinds))

    @property
    def options(self) -> str:
        """The options that name this deployment to another `adminview` command."""
        return f"--stage {self.stage}" + (f" --prefix {self.prefix}" if self.prefix else "")

    def deploy(self, *parts: DeployedStack) -> str:
        """Return the command that deploys these stacks; without any, all of them."""
        names = " ".join(part.name for part in parts) or "--all"
        prefix = f" -c adminview:prefix={self.prefix}" if self.prefix else ""
        return f"npx cdk deploy {names} -c adminview:stage={self.stage}{prefix}"

    def restore(self, part: DeployedStack) -> str:
        """Return the command that reverts manual changes; a plain deployment ignores drift."""
        return f"{self.deploy(part)} --exclusively --revert-drift"

    def retry(self, part: DeployedStack) -> str:
        """Return the commands that deploy a stack again whose first deployment failed."""
        release = (
            "aws cloudformation update-termination-protection --no-enable-termination-protection"
        )
        steps = [f"{release} --stack-name {part.name}"] if part.protected else []
        # Retained tables keep their names: the new stack must adopt them.
        return "; then ".join([*steps, f"{self.deploy()} --import-existing-resources"])

    @property
    def settings(self) -> Settings:
        """The settings of the functions."""
        return Settings.from_env(self.part(SYNC).output(SETTINGS_OUTPUT))

    @property
    def mappings(self) -> Mapping[str, str]:
        """The ids of the event source mappings by source."""
        mappings: Mapping[str, str] = self.part(SYNC).output(MAPPINGS_OUTPUT)
        return mappings

    @property
    def pending(self) -> Mapping[str, str | None]:
        """The access patterns that are not ready, each with its fallback index if any."""
        pending: Mapping[str, str | None] = self.part(API).output(PATTERNS_OUTPUT)["pending"]
        return pending

    @property
    def built(self) -> Mapping[str, Any]:
        """The record of what is built; empty if there is none."""
        table = progress_table(self.settings.view_table)
        response = self.aws.call("dynamodb", "GetItem", **record_request(table))
        return record_in(response.get("Item"))

    @property
    def unbuilt(self) -> list[str]:
        """The access patterns whose rows are not built, as the deployed API sees them."""
        model = self.part(API).description()
        return [*not_ready(model, self.built.get(PATTERNS, {}))] if model else []


def _resources(aws: Aws, name: str, stack: Stack) -> Iterator[Resource]:
    declared = stack.template.get("Resources", {})
    read = partial(aws.call, "cloudformation", "ListStackResources")
    for page in all_pages(read, {"StackName": name}, NEXT_TOKEN):
        for summary in page["StackResourceSummaries"]:
            id_ = str(summary["LogicalResourceId"])
            physical = str(summary.get("PhysicalResourceId", ""))
            properties = declared.get(id_, {}).get("Properties", {})
            yield Resource(id_, summary["ResourceType"], physical, {**properties})
