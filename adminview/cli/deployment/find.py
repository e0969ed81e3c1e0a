"""Find the settings of a deployment, and check that they fit the local view files."""

import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from json import dumps, loads
from time import monotonic
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from adminview.aws.deadline import Deadline
from adminview.aws.endpoints import ENDPOINT
from adminview.aws.event_source_mappings import check_followed
from adminview.aws.settings import (
    MAPPINGS_OUTPUT,
    QUEUE_URL,
    REPLAY_FUNCTION_OUTPUT,
    VIEW_TABLE,
    Settings,
)
from adminview.aws.stack_outputs import deployed_settings
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.stacks import RECOVERY, SYNC
from adminview.cli.endpoints import check_endpoints
from adminview.cli.model_lock.lock import validate_description
from adminview.cli.model_lock.model_diff import Description
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.local.settings import declared
from adminview.model import Registry, Source
from adminview.model.errors import QueryError, SettingsError

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

LONGEST_RUN = 900  # seconds, set by Lambda
TIMEOUT_SECONDS = 30.0
CHECK_SECONDS = 30.0  # between two checks of the deployed model, while rows are written


def find_settings(registry: Registry, deployment: Deployment, *, connects: bool = True) -> Settings:
    """Return the settings of a deployment.

    They come from the environment of a function if it is set, from the declarations for a local
    engine, and otherwise from the outputs of the stacks. If the caller *connects* to the tables,
    the endpoint that the environment names must respond.
    """
    environ = deployment.environ
    if connects:
        check_endpoints(environ, "DYNAMODB")
    if environ.get(VIEW_TABLE):
        return Settings.from_env(environ)
    if deployment.local:
        return declared(registry, environ.get(QUEUE_URL, ""))
    return deployed_settings(deployment)


def check_streams(deployment: Deployment, sources: Iterable[str]) -> None:
    """Raise an error if a deployment does not read the stream of one of the sources."""
    if deployment.local:
        return  # `adminview dev` reads the streams of a local engine
    mappings = loads(deployment.output(SYNC, MAPPINGS_OUTPUT))
    client: LambdaClient = boto3.client("lambda")
    check_followed(client, mappings, sources, lambda: Deadline.after(TIMEOUT_SECONDS))


def known_source(registry: Registry, name: str) -> Source:
    """Return a source; raise QueryError with the declared names if there is none."""
    try:
        return registry.source(name)
    except KeyError as error:
        raise QueryError(error.args[0]) from error


def check_queue(settings: Settings) -> None:
    """Raise SettingsError unless the dead-letter queue is set and its endpoint responds."""
    if not settings.dead_letter_queue_url:
        msg = (
            "there is no dead-letter queue. `adminview dev` has one, and prints the variables to "
            f"export here. To use another, set {QUEUE_URL} to its URL, and {ENDPOINT}_SQS if SQS "
            "has another endpoint than the tables"
        )
        raise SettingsError(msg)
    check_endpoints(os.environ, "SQS")


def check_model(registry: Registry, settings: Settings) -> None:
    """Raise SettingsError unless the local view files match the deployed model."""
    if registry.fingerprint != settings.model:
        msg = (
            f"the local view files are model {registry.fingerprint}, but model {settings.model} is "
            "deployed: check out the deployed model, or deploy the local one"
        )
        raise SettingsError(msg)


def check_deployed(registry: Registry, deployment: Deployment) -> None:
    """Read the deployed model again, and raise SettingsError if it is no longer the local one."""
    check_model(registry, find_settings(registry, deployment.fresh()))


def deployed_description(deployment: Deployment) -> Description | None:
    """Return the model of the deployed sync function; None if it is not deployed."""
    stack = deployment.stack(SYNC)
    if stack is None:
        return None
    try:
        model = stack.description()
    except ValueError:
        model = None
    if model is None:
        msg = (
            f"stack {stack.name!r} does not describe its model: deploy that model once with this "
            "version of AdminView"
        )
        raise SettingsError(msg)
    return validate_description(model, f"the template of stack {stack.name!r}")


@dataclass(slots=True)
class Throttled:
    """Calls *check* at most once in CHECK_SECONDS. Counts from its creation."""

    check: Callable[[], object]
    clock: Callable[[], float] = monotonic
    _at: float = field(init=False)

    def __post_init__(self) -> None:
        self._at = self.clock()

    def __call__(self) -> None:
        if (now := self.clock()) - self._at >= CHECK_SECONDS:
            self._at = now
            self.check()


def replay_function_name(deployment: Deployment) -> str:
    return deployment.output(RECOVERY, REPLAY_FUNCTION_OUTPUT)


def invoke(function: str, letter_filter: LetterFilter) -> dict[str, Any]:
    """Replay dead letters with the deployed function, and return its result."""
    payload = {name: value for name, value in asdict(letter_filter).items() if value is not None}
    client = boto3.client("lambda", config=Config(read_timeout=LONGEST_RUN))
    response = client.invoke(FunctionName=function, Payload=dumps(payload).encode())
    result: dict[str, Any] = loads(response["Payload"].read())
    if "FunctionError" in response:
        msg = f"the function failed: {result.get('errorType')}: {result.get('errorMessage')}"
        raise SettingsError(msg)
    return result
