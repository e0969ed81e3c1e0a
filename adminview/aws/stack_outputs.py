"""Find a deployment by the outputs of its stacks: its settings and its pending patterns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from json import loads
from typing import Any, ClassVar, Final

from adminview.aws.aws_calls import Aws
from adminview.aws.endpoints import ENDPOINT, check_endpoints
from adminview.aws.readiness import Readiness, record_in, record_request
from adminview.aws.settings import (
    API_STACK,
    PATTERNS_OUTPUT,
    SETTINGS_OUTPUT,
    SYNC_STACK,
    VIEW_TABLE,
    PendingPatterns,
    Settings,
    stack_name,
)
from adminview.model import Registry
from adminview.model.errors import SettingsError
from adminview.model.readiness import PATTERNS, Contents, progress_table

STAGE: Final = "dev"  # the default in cdk.json


@dataclass(frozen=True, slots=True)
class StackOutputs:
    """The stacks of a stage and prefix, or the tables that the environment names instead."""

    # How a caller names another deployment.
    naming: ClassVar[str] = (
        "name the deployment with stage= and prefix=, or pass only endpoint= to use a local engine"
    )

    aws: Aws
    stage: str = STAGE
    prefix: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    named: bool = True  # by its stage or its prefix

    @property
    def local(self) -> bool:
        """Whether the environment names tables or a local engine, so that there are no stacks."""
        engine = self.environ.get(ENDPOINT) and not self.named
        return bool(self.environ.get(VIEW_TABLE) or engine)

    def name_of(self, part: str) -> str:
        return stack_name(self.prefix, self.stage, part)

    def output(self, part: str, name: str) -> str:
        """Return an output of a stack; raise SettingsError if there is none."""
        stack = self.name_of(part)
        described = self.described(part)
        if described is None:
            msg = f"there is no stack {stack!r} in this account and region: {self.naming}"
            raise SettingsError(msg)
        outputs = outputs_of(described)
        if name not in outputs:
            msg = f"stack {stack!r} has no output {name!r}: deploy this version of AdminView first"
            raise SettingsError(msg)
        return outputs[name]

    def described(self, part: str) -> Mapping[str, Any] | None:
        """Describe a stack; None if it does not exist."""
        self.check_endpoint()
        name = self.name_of(part)
        response = self.aws.find("cloudformation", "DescribeStacks", StackName=name)
        described: Mapping[str, Any] | None = response["Stacks"][0] if response else None
        return described

    def check_endpoint(self) -> None:
        """Raise a SettingsError if a custom endpoint does not respond."""
        check_endpoints(self.environ, "CLOUDFORMATION")


def outputs_of(described: Mapping[str, Any]) -> dict[str, str]:
    """Return the outputs in a response of DescribeStacks."""
    return {
        output["OutputKey"]: str(output["OutputValue"]) for output in described.get("Outputs", [])
    }


def deployed_settings(deployment: StackOutputs) -> Settings:
    try:
        return Settings.from_env(loads(deployment.output(SYNC_STACK, SETTINGS_OUTPUT)))
    except (ValueError, AttributeError) as error:
        stack = deployment.name_of(SYNC_STACK)
        msg = f"the output {SETTINGS_OUTPUT!r} of stack {stack!r} does not contain settings"
        raise SettingsError(msg) from error


def find_pending(registry: Registry, deployment: StackOutputs) -> Mapping[str, str | None]:
    """Return the access patterns that are not ready. Those that a build completes are removed.

    The mapping does not follow the phases of `adminview apply`: the model is deployed between
    them. Raises a SettingsError for another model.
    """
    if deployment.local:
        return PendingPatterns.from_env(deployment.environ).patterns
    model, pending = _deployed_patterns(deployment)
    if registry.fingerprint != model:
        msg = (
            f"the local access patterns are of model {registry.fingerprint}, but model {model} is "
            "deployed: check out the deployed model, or deploy the local one"
        )
        raise SettingsError(msg)
    table = progress_table(deployed_settings(deployment).view_table)
    return Readiness(registry, pending, partial(find_built, deployment.aws, table))


def find_built(aws: Aws, table: str) -> Contents:
    """Read from the progress table what is built, each time."""
    response = aws.fresh().call("dynamodb", "GetItem", **record_request(table))
    built: Contents = record_in(response.get("Item")).get(PATTERNS, {})
    return built


def _deployed_patterns(deployment: StackOutputs) -> tuple[str, Mapping[str, str | None]]:
    """Return the model of the deployed API, and its access patterns that are not ready."""
    where = f"the output {PATTERNS_OUTPUT!r} of stack {deployment.name_of(API_STACK)!r}"
    try:
        output = loads(deployment.output(API_STACK, PATTERNS_OUTPUT))
        model, pending = str(output["model"]), output["pending"]
    except (ValueError, LookupError, TypeError) as error:
        msg = f"{where} does not list access patterns: deploy this version of AdminView"
        raise SettingsError(msg) from error
    return model, PendingPatterns.read(pending, where).patterns
