"""Where a deployment's tables and its queue are."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from json import dumps, loads
from time import monotonic
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

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
)
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.stacks import API, RECOVERY, SYNC
from adminview.cli.endpoints import check_endpoints
from adminview.cli.model_lock.lock import checked
from adminview.cli.model_lock.model_diff import Description
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.local.settings import ENDPOINT, declared
from adminview.model import Registry, Source
from adminview.model.errors import QuestionError, SettingsError

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

LONGEST_RUN = 900  # seconds that Lambda lets a function run
PATIENCE_SECONDS = 30.0
CHECK_SECONDS = 30.0  # between two looks at which model is deployed, while rows are written


def find_settings(registry: Registry, deployment: Deployment, *, connects: bool = True) -> Settings:
    """Find the settings of a deployment.

    They are taken from a function's own environment if it is given, from the declarations if a
    local engine is asked, and otherwise from the outputs of the deployed stacks. If the caller
    *connects* to the tables, an endpoint that the environment names must answer.
    """
    environ = deployment.environ
    if connects:
        check_endpoints(environ, "DYNAMODB")
    if environ.get(VIEW_TABLE):
        return Settings.from_env(environ)
    if deployment.local:
        return declared(registry, environ.get(QUEUE_URL, ""))
    try:
        return Settings.from_env(loads(deployment.output(SYNC, SETTINGS_OUTPUT)))
    except (ValueError, AttributeError) as error:
        stack = deployment.name_of(SYNC)
        msg = f"the output {SETTINGS_OUTPUT!r} of stack {stack!r} does not hold settings"
        raise SettingsError(msg) from error


def find_pending(registry: Registry, deployment: Deployment) -> Mapping[str, str | None]:
    """Find which questions are being built, where they are asked; refuse those of another model."""
    if deployment.local:
        return PendingPatterns.from_env(deployment.environ).patterns
    model, pending = deployed_patterns(deployment)
    if registry.fingerprint != model:
        msg = (
            f"the questions here are of model {registry.fingerprint}, and deployed is {model}: "
            "check out what is deployed, or deploy what is here"
        )
        raise SettingsError(msg)
    return pending


def deployed_patterns(deployment: Deployment) -> tuple[str, Mapping[str, str | None]]:
    """Find the model that a deployment's API asks by, and what of it is being built."""
    where = f"the output {PATTERNS_OUTPUT!r} of stack {deployment.name_of(API)!r}"
    try:
        told = loads(deployment.output(API, PATTERNS_OUTPUT))
        model, pending = str(told["model"]), told["pending"]
    except (ValueError, LookupError, TypeError) as error:
        msg = f"{where} does not say which questions there are: deploy this version of AdminView"
        raise SettingsError(msg) from error
    return model, PendingPatterns.read(pending, where).patterns


def check_streams(deployment: Deployment, sources: Iterable[str]) -> None:
    """Refuse to fill the view from sources whose streams a deployment does not follow."""
    if deployment.local:
        return  # a local engine, which somebody follows with `adminview local`
    mappings = loads(deployment.output(SYNC, MAPPINGS_OUTPUT))
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


def check_deployed(registry: Registry, deployment: Deployment) -> None:
    """Read again whether what is deployed is what is here: it may have changed meanwhile."""
    check_model(registry, find_settings(registry, deployment.fresh()))


def deployed_description(deployment: Deployment) -> Description | None:
    """Read the model that the sync was deployed with; None if it is not deployed."""
    stack = deployment.stack(SYNC)
    if stack is None:
        return None
    try:
        model = stack.description()
    except ValueError:
        model = None
    if model is None:
        msg = (
            f"stack {stack.name!r} does not say which model it was deployed with: "
            "deploy this version of AdminView once, with the model that is there"
        )
        raise SettingsError(msg)
    return checked(model, f"the template of stack {stack.name!r}")


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


def deployed_function(deployment: Deployment) -> str:
    """Find the deployed replay function."""
    return deployment.output(RECOVERY, REPLAY_FUNCTION_OUTPUT)


def invoke(function: str, letter_filter: LetterFilter) -> dict[str, Any]:
    """Have the deployed function replay letters, and give what it says."""
    asked = {name: value for name, value in asdict(letter_filter).items() if value is not None}
    client = boto3.client("lambda", config=Config(read_timeout=LONGEST_RUN))
    answer = client.invoke(FunctionName=function, Payload=dumps(asked).encode())
    told: dict[str, Any] = loads(answer["Payload"].read())
    if "FunctionError" in answer:
        msg = f"the function failed: {told.get('errorType')}: {told.get('errorMessage')}"
        raise SettingsError(msg)
    return told
