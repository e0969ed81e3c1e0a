"""A deployment: its stacks and what is in them, each read once.

Every command makes one `Deployment` and hands it on. Whoever must see a change makes another with
`fresh`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from json import loads
from typing import Any, Final

from botocore.exceptions import BotoCoreError

from adminview.aws.settings import (
    MAPPINGS_OUTPUT,
    PATTERNS_OUTPUT,
    SETTINGS_OUTPUT,
    VIEW_TABLE,
    Settings,
    stack_name,
)
from adminview.cli.deployment.aws_calls import Aws, puzzled
from adminview.cli.deployment.stacks import API, NOTHING, PARTS, SYNC, Stack, outputs_of
from adminview.cli.endpoints import check_endpoints
from adminview.cli.model_lock.lock import checked
from adminview.cli.model_lock.model_diff import Description
from adminview.local.settings import ENDPOINT
from adminview.model.errors import AdminViewError, SettingsError

STAGE: Final = "dev"  # of cdk.json
HASH: Final = re.compile(r"[0-9A-F]{8}$")  # that CDK puts behind the names of constructs


@dataclass(frozen=True, slots=True)
class Resource:
    """One thing that a stack has made."""

    id: str  # in the template
    kind: str
    name: str  # as AWS knows it: a name, an id, an ARN or a URL
    properties: Mapping[str, Any]  # as they were asked for

    @property
    def label(self) -> str:
        """Name it as people know it."""
        return HASH.sub("", self.id)


@dataclass(frozen=True, slots=True)
class DeployedStack:
    """One stack."""

    name: str
    id: str = ""  # "" if it is not there
    status: str = ""
    stack: Stack | None = None  # None if it was never made, or cannot be read
    resources: tuple[Resource, ...] = ()
    trouble: AdminViewError | None = None  # why it cannot be read

    @classmethod
    def read(cls, aws: Aws, name: str) -> "DeployedStack":
        """Read a stack; what cannot be read of it is told, not raised."""
        part = cls(name)
        try:
            found = aws.find("cloudformation", "DescribeStacks", StackName=name)
            if found is None:
                return part
            told = found["Stacks"][0]
            part = cls(name, str(told["StackId"]), str(told["StackStatus"]))
            if part.status in NOTHING:
                return part
            template = aws.ask("cloudformation", "GetTemplate", StackName=name)["TemplateBody"]
            stack = Stack.of(name, told, template)
            resources = tuple(_resources(aws, name, stack))
            return cls(name, part.id, part.status, stack, resources)
        except AdminViewError as error:
            return cls(name, part.id, part.status, trouble=error)
        except BotoCoreError:  # no client can be made at all: nothing of this is about a stack
            raise
        except Exception as error:  # noqa: BLE001 - whatever answers, it must not hide the others
            return cls(name, part.id, part.status, trouble=SettingsError(puzzled(error)))

    def of(self, *kinds: str) -> list[Resource]:
        """List the resources of some kinds."""
        return [one for one in self.resources if one.kind in kinds]

    def output(self, name: str) -> Any:
        """Read an output that is JSON."""
        try:
            return loads(self.stack.outputs[name] if self.stack else "")
        except (LookupError, ValueError) as error:
            msg = f"stack {self.name!r} has no output {name!r}, or one of another version of this"
            raise SettingsError(msg) from error

    def description(self) -> Description | None:
        """Read the model that it was deployed with; None if it does not say."""
        found = self.stack.description() if self.stack else None
        return checked(found, f"the template of stack {self.name!r}") if found else None


@dataclass(frozen=True, slots=True)
class Deployment:
    """The stacks of a stage and a prefix, or the tables that the environment names instead."""

    aws: Aws
    stage: str = STAGE
    prefix: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    named: bool = True  # by the options of a command
    _parts: dict[str, DeployedStack] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def from_options(
        cls, stage: str | None, prefix: str, environ: Mapping[str, str]
    ) -> "Deployment":
        """Find the deployment that the options of a command name; none mean the stage dev."""
        return cls(Aws(), stage or STAGE, prefix, environ, bool(stage or prefix))

    def fresh(self) -> "Deployment":
        """Return the same deployment, with nothing read of it yet."""
        return replace(self, aws=self.aws.fresh(), _parts={})

    @property
    def local(self) -> bool:
        """Tell whether the environment names tables, or an engine without stacks."""
        engine = self.environ.get(ENDPOINT) and not self.named
        return bool(self.environ.get(VIEW_TABLE) or engine)

    def name_of(self, part: str) -> str:
        """Name one of its stacks."""
        return stack_name(self.prefix, self.stage, part)

    def output(self, part: str, name: str) -> str:
        """Read an output of a stack, or raise a SettingsError that says what to do."""
        stack = self.name_of(part)
        described = self._described(part)
        if described is None:
            msg = (
                f"there is no stack {stack!r} in this account and region: name the deployment with "
                f"--stage and --prefix, or only set {ENDPOINT} to ask a local engine"
            )
            raise SettingsError(msg)
        outputs = outputs_of(described)
        if name not in outputs:
            msg = f"stack {stack!r} has no output {name!r}: deploy this version of AdminView first"
            raise SettingsError(msg)
        return outputs[name]

    def stack(self, part: str) -> Stack | None:
        """Read a stack with its template; None if it was never made."""
        described, name = self._described(part), self.name_of(part)
        if described is None or described["StackStatus"] in NOTHING:
            return None
        template = self.aws.ask("cloudformation", "GetTemplate", StackName=name)["TemplateBody"]
        return Stack.of(name, described, template)

    def _described(self, part: str) -> Mapping[str, Any] | None:
        check_endpoints(self.environ, "CLOUDFORMATION")
        found = self.aws.find("cloudformation", "DescribeStacks", StackName=self.name_of(part))
        described: Mapping[str, Any] | None = found["Stacks"][0] if found else None
        return described

    @property
    def parts(self) -> Mapping[str, DeployedStack]:
        """Read all stacks with their resources; what cannot be read of one is kept, not raised."""
        return {part: self.part(part) for part in PARTS}

    def part(self, name: str) -> DeployedStack:
        """Read a stack with its resources, there or not."""
        if name not in self._parts:
            self._parts[name] = DeployedStack.read(self.aws, self.name_of(name))
        return self._parts[name]

    def of(self, *kinds: str) -> Iterator[tuple[DeployedStack, Resource]]:
        """List the resources of some kinds, in all stacks."""
        return ((part, one) for part in self.parts.values() for one in part.of(*kinds))

    @property
    def options(self) -> str:
        """Name this deployment to another command of ours."""
        return f"--stage {self.stage}" + (f" --prefix {self.prefix}" if self.prefix else "")

    def deploy(self, *parts: DeployedStack) -> str:
        """Say how stacks are deployed, or all of them."""
        names = " ".join(one.name for one in parts) or "--all"
        prefix = f" -c adminview:prefix={self.prefix}" if self.prefix else ""
        return f"npx cdk deploy {names} -c adminview:stage={self.stage}{prefix}"

    def restore(self, part: DeployedStack) -> str:
        """Say how what was changed by hand in a stack is put back; else CDK sees no difference."""
        return f"{self.deploy(part)} --exclusively --revert-drift"

    @property
    def settings(self) -> Settings:
        """Read what the functions are told."""
        return Settings.from_env(self.part(SYNC).output(SETTINGS_OUTPUT))

    @property
    def mappings(self) -> Mapping[str, str]:
        """Read the ids of the mappings, by source."""
        found: Mapping[str, str] = self.part(SYNC).output(MAPPINGS_OUTPUT)
        return found

    @property
    def pending(self) -> Mapping[str, str | None]:
        """Read which questions are being built."""
        found: Mapping[str, str | None] = self.part(API).output(PATTERNS_OUTPUT)["pending"]
        return found


def _resources(aws: Aws, name: str, stack: Stack) -> Iterator[Resource]:
    declared, more = stack.template.get("Resources", {}), {"StackName": name}
    while True:
        page = aws.ask("cloudformation", "ListStackResources", **more)
        for one in page["StackResourceSummaries"]:
            id_, made = str(one["LogicalResourceId"]), str(one.get("PhysicalResourceId", ""))
            asked = declared.get(id_, {}).get("Properties", {})
            yield Resource(id_, one["ResourceType"], made, {**asked})
        if not page.get("NextToken"):
            return
        more["NextToken"] = page["NextToken"]
