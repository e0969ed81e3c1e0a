"""Where a deployment's tables and its queue are."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from json import dumps, loads
from time import monotonic
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from adminview.aws.deadline import Deadline
from adminview.aws.event_source_mappings import check_followed
from adminview.aws.settings import (
    MAPPINGS_OUTPUT,
    PATTERNS_OUTPUT,
    QUEUE_URL,
    REPLAY_FUNCTION_OUTPUT,
    SETTINGS_OUTPUT,
    VIEW_TABLE,
    PendingPatterns,
    Settings,
    stack_name,
)
from adminview.cli.endpoints import check_endpoints
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.local.settings import ENDPOINT, declared
from adminview.model import Registry, Source
from adminview.model.errors import QuestionError, SettingsError

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

# For all services at once: with one of them alone, the others would be asked on AWS.
LONGEST_RUN = 900  # seconds that Lambda lets a function run
PATIENCE_SECONDS = 30.0
CHECK_SECONDS = 30.0  # between two looks at which model is deployed, while rows are written
STAGE = "dev"  # of cdk.json


def find_settings(
    registry: Registry,
    environ: Mapping[str, str],
    stage: str | None,
    prefix: str,
    *,
    connects: bool = True,
) -> Settings:
    """Find the settings of a deployment.

    They are taken from a function's own environment if it is given, from the declarations if a
    local engine is asked, and otherwise from the outputs of the deployed stacks. If the caller
    *connects* to the tables, an endpoint that the environment names must answer.
    """
    if connects:
        check_endpoints(environ, "DYNAMODB")
    if environ.get(VIEW_TABLE):
        return Settings.from_env(environ)
    if environ.get(ENDPOINT) and not stage and not prefix:
        return declared(registry, environ.get(QUEUE_URL, ""))
    stack = stack_name(prefix, stage or STAGE, "Sync")
    try:
        return Settings.from_env(loads(output(stack, SETTINGS_OUTPUT)))
    except (ValueError, AttributeError) as error:
        msg = f"the output {SETTINGS_OUTPUT!r} of stack {stack!r} does not hold settings"
        raise SettingsError(msg) from error


def find_building(
    registry: Registry, environ: Mapping[str, str], stage: str | None, prefix: str
) -> Mapping[str, str | None]:
    """Find which questions are being built, where they are asked; refuse those of another model."""
    if environ.get(VIEW_TABLE) or (environ.get(ENDPOINT) and not stage and not prefix):
        return PendingPatterns.from_env(environ).patterns
    model, building = deployed_questions(stage, prefix)
    if registry.fingerprint != model:
        msg = (
            f"the questions here are of model {registry.fingerprint}, and deployed is {model}: "
            "check out what is deployed, or deploy what is here"
        )
        raise SettingsError(msg)
    return building


def deployed_questions(stage: str | None, prefix: str) -> tuple[str, Mapping[str, str | None]]:
    """Find the model that a deployment's API asks by, and what of it is being built."""
    stack = stack_name(prefix, stage or STAGE, "Api")
    where = f"the output {PATTERNS_OUTPUT!r} of stack {stack!r}"
    try:
        told = loads(output(stack, PATTERNS_OUTPUT))
        model, building = str(told["model"]), told["pending"]
    except (ValueError, LookupError, TypeError) as error:
        msg = f"{where} does not say which questions there are: deploy this version of AdminView"
        raise SettingsError(msg) from error
    return model, PendingPatterns.read(building, where).patterns


def output(stack: str, name: str) -> str:
    """Read one output of a deployed stack."""
    check_endpoints(os.environ, "CLOUDFORMATION")
    try:
        found = boto3.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
        msg = (
            f"there is no stack {stack!r} in this account and region: name the deployment with "
            f"--stage and --prefix, or only set {ENDPOINT} to ask a local engine"
        )
        raise SettingsError(msg) from error
    for one in found.get("Outputs", []):
        if one["OutputKey"] == name:
            return str(one["OutputValue"])
    msg = f"stack {stack!r} has no output {name!r}: deploy this version of AdminView first"
    raise SettingsError(msg)


def check_streams(
    environ: Mapping[str, str], stage: str | None, prefix: str, sources: Iterable[str]
) -> None:
    """Refuse to fill the view from sources whose streams a deployment does not follow."""
    if environ.get(VIEW_TABLE) or (environ.get(ENDPOINT) and not stage and not prefix):
        return  # a local engine, which somebody follows with `adminview local`
    mappings = loads(output(stack_name(prefix, stage or STAGE, "Sync"), MAPPINGS_OUTPUT))
    client: LambdaClient = boto3.client("lambda")
    check_followed(client, mappings, sources, lambda: Deadline.after(PATIENCE_SECONDS))


def known_source(registry: Registry, name: str) -> Source:
    """Find a source, or say which ones there are."""
    try:
        return registry.source(name)
    except KeyError as error:
        raise QuestionError(error.args[0]) from error


def check_queue(settings: Settings) -> None:
    """Refuse to go on without a queue that answers."""
    if not settings.dead_letter_queue_url:
        msg = (
            f"set {QUEUE_URL} to the URL of the dead-letter queue, and {ENDPOINT}_SQS to where "
            "queues are, if that is not where the tables are"
        )
        raise SettingsError(msg)
    check_endpoints(os.environ, "SQS")


def check_model(registry: Registry, settings: Settings) -> None:
    """Refuse to write rows that the deployed functions would not."""
    if registry.fingerprint != settings.model:
        msg = (
            f"the view files here are model {registry.fingerprint}, and deployed is "
            f"{settings.model}: check out what is deployed, or deploy what is here"
        )
        raise SettingsError(msg)


def check_deployed(
    registry: Registry, environ: Mapping[str, str], stage: str | None, prefix: str
) -> None:
    """Look again whether what is deployed is what is here: it may have changed meanwhile."""
    check_model(registry, find_settings(registry, environ, stage, prefix))


@dataclass(slots=True)
class Throttled:
    """A check that was just made, and is made again when some time has passed."""

    check: Callable[[], object]
    clock: Callable[[], float] = monotonic
    _at: float = field(init=False)

    def __post_init__(self) -> None:
        """Begin to count."""
        self._at = self.clock()

    def __call__(self) -> None:
        """Check, if that is due."""
        if (now := self.clock()) - self._at >= CHECK_SECONDS:
            self._at = now
            self.check()


def deployed_function(stage: str | None, prefix: str) -> str:
    """Find the deployed replay function."""
    return output(stack_name(prefix, stage or STAGE, "Recovery"), REPLAY_FUNCTION_OUTPUT)


def invoke(function: str, choice: LetterFilter) -> dict[str, Any]:
    """Have the deployed function replay letters, and give what it says."""
    asked = {name: value for name, value in asdict(choice).items() if value is not None}
    client = boto3.client("lambda", config=Config(read_timeout=LONGEST_RUN))
    answer = client.invoke(FunctionName=function, Payload=dumps(asked).encode())
    told: dict[str, Any] = loads(answer["Payload"].read())
    if "FunctionError" in answer:
        msg = f"the function failed: {told.get('errorType')}: {told.get('errorMessage')}"
        raise SettingsError(msg)
    return told
