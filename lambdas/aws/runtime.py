"""What an invocation works with, made once per container."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from time import time
from typing import TYPE_CHECKING, Protocol

import boto3
from botocore.config import Config

from lambdas.aws.dead_letters import DeadLetters
from lambdas.aws.deadline import Deadline
from lambdas.aws.observability import Observability
from lambdas.aws.settings import Settings
from lambdas.aws.together import AT_ONCE
from lambdas.aws.view_table import ViewTable
from lambdas.model import Registry
from lambdas.pipeline.decode import Route, routes
from lambdas.pipeline.letter import Letter
from lambdas.pipeline.tally import Tally
from lambdas.views import registry

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient
    from mypy_boto3_sqs import SQSClient

CONNECT_SECONDS, READ_SECONDS = 1, 4
LONGEST_CALL = CONNECT_SECONDS + READ_SECONDS

# Retries are ours: they must know the invocation's deadline.
CLIENT = Config(
    retries={"total_max_attempts": 1},
    connect_timeout=CONNECT_SECONDS,
    read_timeout=READ_SECONDS,
    max_pool_connections=AT_ONCE,
    tcp_keepalive=True,
)


class Invocation(Protocol):
    """What we look at in Lambda's context."""

    @property
    def aws_request_id(self) -> str:
        """Tell invocations apart."""

    def get_remaining_time_in_millis(self) -> int:
        """Say how long this one may go on."""


class Post(Protocol):
    """Where letters go."""

    def send(self, letters: Sequence[Letter], *, until: Deadline) -> tuple[list[Letter], set[str]]:
        """Send *letters*; return those that were not taken, and what stood in the way."""


class Observer(Protocol):
    """Who is told."""

    def invoked(self, context: Invocation) -> None:
        """Hear of an invocation."""

    def synced(self, tally: Tally, letters: Sequence[Letter], trouble: Collection[str], /) -> None:
        """Hear what a batch came to."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """The view, the letters, the routes to the views, and who is told."""

    routes: Mapping[str, Route]
    model: str
    view: ViewTable
    dead_letters: Post
    observer: Observer
    now: Callable[[], float] = time


@cache
def runtime() -> Runtime:
    """Make the runtime of this container from its environment."""
    settings = read_settings()
    observer = Observability(service=settings.service)
    return make_runtime(registry(), settings, Clients(), observer)


def read_settings() -> Settings:
    """Read this container's settings, and let X-Ray watch if they say so.

    The model is the code's own: while a function is updated, code and environment change one after
    the other, and a row must not carry the fingerprint of views that did not derive it.
    """
    settings = Settings.from_env(os.environ)
    if settings.tracing:
        _trace()
    return replace(settings, model=registry().fingerprint)


@dataclass(frozen=True, slots=True)
class Clients:
    """How AWS is reached: as the environment says, unless told otherwise."""

    dynamodb: "DynamoDBClient" = field(
        default_factory=lambda: boto3.client("dynamodb", config=CLIENT)
    )
    sqs: "SQSClient" = field(default_factory=lambda: boto3.client("sqs", config=CLIENT))


def streams_client() -> "DynamoDBStreamsClient":
    """Make a client of the sources' streams, which the sync itself does not need."""
    client: DynamoDBStreamsClient = boto3.client("dynamodbstreams", config=CLIENT)
    return client


def make_runtime(
    model: Registry, settings: Settings, clients: Clients, observer: Observer
) -> Runtime:
    """Connect a model to the tables and the queue that *settings* name."""
    return Runtime(
        routes=routes(model, settings.sources),
        model=settings.model,
        view=ViewTable(clients.dynamodb, settings.view_table),
        dead_letters=DeadLetters(clients.sqs, settings.dead_letter_queue_url),
        observer=observer,
    )


def _trace() -> None:
    """Let X-Ray see the calls to AWS; its import costs half a second of a cold start."""
    from aws_lambda_powertools import Tracer  # noqa: PLC0415 - see above

    Tracer(auto_patch=True)
