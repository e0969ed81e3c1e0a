"""The composition root: what an invocation needs, built once per container."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from time import time
from typing import Protocol

from adminview.aws.batch_writers import Boto3BatchWriter, HttpBatchWriter, Writer
from adminview.aws.call_errors import CallErrors
from adminview.aws.clients import Clients, find_endpoint, http_client
from adminview.aws.dead_letter_producer import DeadLetterSink, LazyDeadLetterProducer
from adminview.aws.observability import Observability
from adminview.aws.settings import Settings
from adminview.aws.view_table import ViewTable
from adminview.model import Registry
from adminview.model.dead_letter import OutgoingLetter
from adminview.sync.counts import BatchCounts
from adminview.sync.decode import Route, routes
from adminview.views import registry


class InvocationContext(Protocol):
    """The part of Lambda's context that we use."""

    @property
    def aws_request_id(self) -> str: ...

    def get_remaining_time_in_millis(self) -> int: ...


class Observer(Protocol):
    def invoked(self, request_id: str) -> None: ...

    def synced(
        self, counts: BatchCounts, letters: Sequence[OutgoingLetter], errors: CallErrors, /
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Runtime:
    routes: Mapping[str, Route]
    model: str
    view: ViewTable
    dead_letters: DeadLetterSink
    observer: Observer
    now: Callable[[], float] = time
    # In-doubt dead letters that the queue has not accepted yet.
    in_doubt: list[OutgoingLetter] = field(default_factory=list)


@cache
def runtime() -> Runtime:
    """Build the runtime of this container from its environment, once."""
    settings = read_settings()
    observer = Observability(service=settings.service)
    endpoint = find_endpoint()
    writer = HttpBatchWriter(http_client(endpoint)) if endpoint else None
    return make_runtime(registry(), settings, Clients(), observer, writer)


def read_settings() -> Settings:
    """Read this container's settings, and start X-Ray tracing if it is enabled.

    The model is the fingerprint of the code, not of the environment: an update changes them one
    after the other, and a row must carry the fingerprint of the views that derived it.
    """
    settings = Settings.from_env(os.environ)
    if settings.tracing:
        start_tracing()
    return replace(settings, model=registry().fingerprint)


def make_runtime(
    model: Registry,
    settings: Settings,
    clients: Clients,
    observer: Observer,
    writer: Writer | None = None,
) -> Runtime:
    """Connect a model to the tables and the queue of *settings*."""
    return Runtime(
        routes=routes(model, settings.sources),
        model=settings.model,
        view=ViewTable(writer or Boto3BatchWriter(clients.dynamodb), settings.view_table),
        dead_letters=LazyDeadLetterProducer(clients, settings.dead_letter_queue_url),
        observer=observer,
    )


def start_tracing() -> None:
    """Trace the calls to AWS with X-Ray. The import adds half a second to a cold start."""
    from aws_lambda_powertools import Tracer  # noqa: PLC0415 - see above

    Tracer(auto_patch=True)
