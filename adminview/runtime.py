"""What an invocation works with, made once per container."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from time import time
from typing import TYPE_CHECKING, Protocol, cast

from adminview.aws.batch_writers import Boto3BatchWriter, HttpBatchWriter, Writer
from adminview.aws.call_errors import CallErrors
from adminview.aws.dead_letter_producer import DeadLetterProducer
from adminview.aws.deadline import Deadline
from adminview.aws.observability import Observability
from adminview.aws.settings import Settings
from adminview.aws.transport.eligibility import Way, straight
from adminview.aws.view_table import ViewTable
from adminview.model import Registry
from adminview.model.dead_letter import OutgoingLetter
from adminview.sync.counts import BatchCounts
from adminview.sync.decode import Route, routes
from adminview.views import registry

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

    from adminview.aws.transport.http_client import HttpClient


CONNECT_SECONDS, READ_SECONDS = 1, 4
LONGEST_CALL = CONNECT_SECONDS + READ_SECONDS


class Invocation(Protocol):
    """What we look at in Lambda's context."""

    @property
    def aws_request_id(self) -> str:
        """Tell invocations apart."""

    def get_remaining_time_in_millis(self) -> int:
        """Say how long this one may go on."""


class Post(Protocol):
    """Where letters go."""

    def send(
        self, letters: Sequence[OutgoingLetter], *, until: Deadline
    ) -> tuple[list[OutgoingLetter], set[str]]:
        """Send *letters*; return those that were not taken, and what stood in the way."""


class Observer(Protocol):
    """Who is told."""

    def invoked(self, context: Invocation) -> None:
        """Hear of an invocation."""

    def synced(
        self, tally: BatchCounts, letters: Sequence[OutgoingLetter], errors: CallErrors, /
    ) -> None:
        """Hear what a batch came to, and which calls failed."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """The view, the letters, the routes to the views, and who is told."""

    routes: Mapping[str, Route]
    model: str
    view: ViewTable
    dead_letters: Post
    observer: Observer
    now: Callable[[], float] = time
    # Letters about calls in doubt that the queue has not taken yet.
    in_doubt: list[OutgoingLetter] = field(default_factory=list)


@cache
def runtime() -> Runtime:
    """Make the runtime of this container from its environment."""
    settings = read_settings()
    observer = Observability(service=settings.service)
    way = straight(os.environ)
    writer = HttpBatchWriter(direct_to(way)) if way else None
    return make_runtime(registry(), settings, Clients(), observer, writer)


def read_settings() -> Settings:
    """Read this container's settings, and let X-Ray watch if they say so.

    The model is the code's own: while a function is updated, code and environment change one after
    the other, and a row must not carry the fingerprint of views that did not derive it.
    """
    settings = Settings.from_env(os.environ)
    if settings.tracing:
        _trace()
    return replace(settings, model=registry().fingerprint)


class Clients:
    """How AWS is reached: as the environment says, unless told otherwise.

    A client is made when it is first used, and only then is boto3 loaded: that takes longer than
    all else at a cold start, and who moves items straight, without a letter, needs none.
    """

    def __init__(
        self, dynamodb: "DynamoDBClient | None" = None, sqs: "SQSClient | None" = None
    ) -> None:
        if dynamodb is not None:
            self.dynamodb = dynamodb
        if sqs is not None:
            self.sqs = sqs

    @cached_property
    def dynamodb(self) -> "DynamoDBClient":
        """Reach the tables: straight, where that is no different."""
        way = straight(os.environ)
        return straight_client(direct_to(way)) if way else plain_client()

    @cached_property
    def sqs(self) -> "SQSClient":
        """Reach the queue."""
        from adminview.aws.clients import sqs_client  # noqa: PLC0415 - see above

        return sqs_client()


def plain_client() -> "DynamoDBClient":
    """Reach the tables through boto3."""
    from adminview.aws.clients import dynamodb_client  # noqa: PLC0415 - see above

    return dynamodb_client()


def straight_client(direct: "HttpClient") -> "DynamoDBClient":
    """Reach the tables straight, and through boto3 for what does not move items."""
    from adminview.aws.transport.dynamodb_client import DynamoDbHttpClient  # noqa: PLC0415 - see above

    return cast("DynamoDBClient", DynamoDbHttpClient(direct, plain_client))


def direct_to(way: Way, read_seconds: float = READ_SECONDS) -> "HttpClient":
    """Reach DynamoDB straight."""
    from adminview.aws.transport.http_client import HttpClient  # noqa: PLC0415 - a laptop does without

    return HttpClient(way.url, way.region, way.keys, (CONNECT_SECONDS, read_seconds))


def make_runtime(
    model: Registry,
    settings: Settings,
    clients: Clients,
    observer: Observer,
    writer: Writer | None = None,
) -> Runtime:
    """Connect a model to the tables and the queue that *settings* name."""
    return Runtime(
        routes=routes(model, settings.sources),
        model=settings.model,
        view=ViewTable(writer or Boto3BatchWriter(clients.dynamodb), settings.view_table),
        dead_letters=Mail(clients, settings.dead_letter_queue_url),
        observer=observer,
    )


class Mail:
    """The queue, which is not even reached for while there are no letters."""

    def __init__(self, clients: Clients, queue_url: str) -> None:
        self._clients = clients
        self._queue_url = queue_url

    def send(
        self, letters: Sequence[OutgoingLetter], *, until: Deadline
    ) -> tuple[list[OutgoingLetter], set[str]]:
        """Send *letters*; return those that were not taken, and what stood in the way."""
        if not letters:
            return [], set()
        return DeadLetterProducer(self._clients.sqs, self._queue_url).send(letters, until=until)


def _trace() -> None:
    """Let X-Ray see the calls to AWS; its import costs half a second of a cold start."""
    from aws_lambda_powertools import Tracer  # noqa: PLC0415 - see above

    Tracer(auto_patch=True)
