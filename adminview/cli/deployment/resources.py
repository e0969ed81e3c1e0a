"""The stacks of a deployment with all that is in them, as CloudFormation tells it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from json import loads
from typing import Any, Final

from botocore.exceptions import BotoCoreError

from adminview.aws.settings import MAPPINGS_OUTPUT, PATTERNS_OUTPUT, SETTINGS_OUTPUT, Settings
from adminview.aws.settings import stack_name as name_of
from adminview.cli.deployment.stacks import NOTHING, Stack, read_stack
from adminview.cli.doctor.aws_calls import Aws, puzzled
from adminview.cli.planning.lock import checked
from adminview.cli.planning.model_diff import Description
from adminview.cli.planning.step import API, RECOVERY, SOURCES, SYNC, VIEW
from adminview.model.errors import AdminViewError, SettingsError

WATCH: Final = "Watch"
PARTS: Final = (SOURCES, VIEW, SYNC, RECOVERY, API, WATCH)
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
class Part:
    """One stack."""

    name: str
    id: str = ""  # "" if it is not there
    status: str = ""
    stack: Stack | None = None  # None if it was never made, or cannot be read
    resources: tuple[Resource, ...] = ()
    trouble: AdminViewError | None = None  # why it cannot be read

    @classmethod
    def read(cls, aws: Aws, name: str) -> "Part":
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
            stack = aws.do("cloudformation", "GetTemplate", lambda one: read_stack(one, name))
            resources = tuple(_resources(aws, name, stack)) if stack else ()
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
class Site:
    """A deployment."""

    stage: str
    prefix: str
    parts: Mapping[str, Part] = field(default_factory=dict)

    @classmethod
    def read(cls, aws: Aws, stage: str, prefix: str) -> "Site":
        """Read all stacks that there are."""
        name = partial(name_of, prefix, stage)
        return cls(stage, prefix, {part: Part.read(aws, name(part)) for part in PARTS})

    def part(self, name: str) -> Part:
        """Find a stack, there or not."""
        return self.parts.get(name) or Part(name_of(self.prefix, self.stage, name))

    def of(self, *kinds: str) -> Iterator[tuple[Part, Resource]]:
        """List the resources of some kinds, in all stacks."""
        return ((part, one) for part in self.parts.values() for one in part.of(*kinds))

    @property
    def options(self) -> str:
        """Name this deployment to another command of ours."""
        return f"--stage {self.stage}" + (f" --prefix {self.prefix}" if self.prefix else "")

    def deploy(self, *parts: Part) -> str:
        """Say how stacks are deployed, or all of them."""
        names = " ".join(one.name for one in parts) or "--all"
        prefix = f" -c adminview:prefix={self.prefix}" if self.prefix else ""
        return f"npx cdk deploy {names} -c adminview:stage={self.stage}{prefix}"

    def restore(self, part: Part) -> str:
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
    def building(self) -> Mapping[str, str | None]:
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
