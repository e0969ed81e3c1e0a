"""AdminView on a local engine: tables, a queue, and the real sync on each stream."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from time import time
from typing import Any

from adminview.aws.attribute_codec import for_boto3, from_boto3
from adminview.aws.batch_writers import HttpBatchWriter, Writer
from adminview.aws.call_errors import CallErrors
from adminview.aws.clients import Clients, http_client
from adminview.aws.deadline import Deadline
from adminview.aws.endpoints import ENDPOINT
from adminview.aws.settings import QUEUE_URL, PendingPatterns, Settings
from adminview.aws.totals_table import HttpUpdater, TotalsTable
from adminview.aws.transport.eligibility import DirectEndpoint, StaticCredentials
from adminview.aws.transport.http_client import HttpClient
from adminview.aws.view_reader import HttpReader, ViewReader
from adminview.dead_letters.replay import Patience, Replayer, make_replayer
from adminview.dead_letters.replay_summary import Summary
from adminview.handlers.sync import PartialBatchResponse, sync
from adminview.handlers.totals import TotalsRuntime, add_up
from adminview.local.engines import ACCESS_KEY, REGION, SECRET_KEY, Engine
from adminview.local.event_source import EventSource
from adminview.local.event_source.on_failure import no_destination, on_failure
from adminview.local.settings import declared
from adminview.local.tables import (
    create,
    progress_table,
    source_table,
    totals_table,
    view_table,
)
from adminview.model import Registry
from adminview.model.dead_letter import AnyLetter, OutgoingLetter, from_json
from adminview.model.delivery import TOTALS_DELIVERY, Delivery
from adminview.model.item import encode
from adminview.model.readiness import progress_table as progress_name
from adminview.model.row import VIEW_TABLE, Attributes
from adminview.model.total import totals_table as totals_name
from adminview.query.engine import QueryEngine
from adminview.runtime import Runtime, make_runtime
from adminview.sync.counts import BatchCounts

QUEUE = "AdminViewDeadLetters"
REPLAY_SECONDS = 60.0
ANSWER_SECONDS = 30.0


@dataclass
class Ledger:
    """An observer that adds up the counts of all batches."""

    batches: list[BatchCounts] = field(default_factory=list)

    def invoked(self, request_id: str) -> None:
        """Count nothing: only batches matter."""

    def synced(self, counts: BatchCounts, _: Sequence[OutgoingLetter], __: CallErrors) -> None:
        self.batches.append(counts)

    def counted(self, _: Mapping[str, Any], __: CallErrors) -> None:
        """Count nothing: totals are counted by reading them."""

    def total(self) -> BatchCounts:
        names = [name for name, zero in asdict(BatchCounts()).items() if isinstance(zero, int)]
        sums = {name: sum(getattr(counts, name) for counts in self.batches) for name in names}
        return BatchCounts(**sums)


def direct_client_to(engine: Engine) -> HttpClient:
    """Return the HTTP client of the deployed functions, with a longer timeout."""
    endpoint = DirectEndpoint(
        engine.dynamodb_url, REGION, StaticCredentials(ACCESS_KEY, SECRET_KEY)
    )
    return http_client(endpoint, ANSWER_SECONDS)


def writer_to(engine: Engine) -> Writer:
    """Return the batch writer of the deployed sync."""
    return HttpBatchWriter(direct_client_to(engine))


def environment_of(engine: Engine, queue_url: str) -> dict[str, str]:
    """Return the environment in which the commands use *engine* and a dead-letter queue."""
    return {
        ENDPOINT: engine.dynamodb_url,
        f"{ENDPOINT}_SQS": engine.sqs_url,
        QUEUE_URL: queue_url,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_DEFAULT_REGION": REGION,
    }


def export_line(variables: Mapping[str, str]) -> str:
    """Return the command that sets *variables* in another terminal."""
    return "export " + " ".join(f"{name}={value}" for name, value in variables.items())


@dataclass
class LocalCloud:
    """Source tables, AdminViewTable, a dead-letter queue, and an event source per stream."""

    engine: Engine
    registry: Registry
    clients: Clients
    runtime: Runtime
    ledger: Ledger
    settings: Settings
    sources: list[EventSource]
    totals: EventSource | None = None  # follows the view's own stream, if the model has totals
    pending: Mapping[str, str | None] = field(default_factory=dict)  # as QueryEngine takes it

    @classmethod
    def start(
        cls, engine: Engine, registry: Registry, delivery: Delivery | None = None
    ) -> "LocalCloud":
        """Create everything that *registry* declares, empty."""
        clients = Clients(engine.dynamodb(), engine.sqs())
        queue_url = clients.sqs.create_queue(QueueName=QUEUE)["QueueUrl"]
        settings = declared(registry, queue_url)
        ledger = Ledger()
        view_stream = create(clients.dynamodb, view_table(registry, VIEW_TABLE))
        create(clients.dynamodb, progress_table(progress_name(VIEW_TABLE)))
        runtime = make_runtime(registry, settings, clients, ledger, writer_to(engine))
        cloud = cls(engine, registry, clients, runtime, ledger, settings, [])
        # No batching window: locally, a fuller batch is not worth waiting for.
        rules = delivery or replace(Delivery(), window_seconds=0)
        for source in registry.sources:
            stream = create(clients.dynamodb, source_table(source, source.name))
            assert stream is not None
            cloud.sources.append(cloud.follow(stream, rules))
        if registry.totals:
            assert view_stream is not None
            create(clients.dynamodb, totals_table(totals_name(VIEW_TABLE)))
            cloud.totals = cloud.follow_view(view_stream)
        return cloud

    def follow_view(self, stream_arn: str) -> EventSource:
        """Return an event source that delivers the view's stream to the real totals function."""
        updater = HttpUpdater(direct_client_to(self.engine))
        table = TotalsTable(updater, totals_name(VIEW_TABLE), time)
        runtime = TotalsRuntime(table, self.ledger)
        return EventSource(
            streams=self.engine.streams(),
            stream_arn=stream_arn,
            handler=lambda event, context: add_up(event, context, runtime),
            on_failure=no_destination,
            delivery=replace(TOTALS_DELIVERY, window_seconds=0),
            function_name="adminview-totals",
        )

    def follow(self, stream_arn: str, delivery: Delivery) -> EventSource:
        """Return an event source that delivers a stream to the real sync."""
        return EventSource(
            streams=self.engine.streams(),
            stream_arn=stream_arn,
            handler=self.handle,
            on_failure=on_failure(self.runtime.dead_letters),
            delivery=delivery,
        )

    def handle(self, event: Any, context: Any) -> PartialBatchResponse:
        """Handle an event as the deployed sync function does."""
        return sync(event, context, self.runtime)

    @property
    def queue_url(self) -> str:
        return self.settings.dead_letter_queue_url

    def replayer(self, registry: Registry | None = None) -> Replayer:
        """Return the replay function's Replayer, with another model as after a deployment."""
        model = registry or self.registry
        settings = replace(self.settings, model=model.fingerprint)
        # No waiting: the indexes of local engines do not lag.
        patience = Patience(for_letters=0, before_retry=1)
        return make_replayer(model, settings, self.clients, self.engine.streams(), patience)

    def replay(self, registry: Registry | None = None) -> Summary:
        """Replay the visible dead letters."""
        deadline = Deadline.after(REPLAY_SECONDS)
        return self.replayer(registry).replay(deadline=deadline, end=deadline)

    def deploy(self, registry: Registry) -> None:
        """Sync with another model from now on."""
        self.registry = registry
        self.settings = replace(self.settings, model=registry.fingerprint)
        writer = writer_to(self.engine)
        self.runtime = make_runtime(registry, self.settings, self.clients, self.ledger, writer)

    def stop(self) -> None:
        """Delete the tables and the queue."""
        for table in (
            VIEW_TABLE,
            *([totals_name(VIEW_TABLE)] if self.totals else []),
            progress_name(VIEW_TABLE),
            *(source.name for source in self.registry.sources),
        ):
            self.clients.dynamodb.delete_table(TableName=table)
        self.clients.sqs.delete_queue(QueueUrl=self.queue_url)

    def put(self, source: str, item: dict[str, Any]) -> None:
        """Write an item to a source table."""
        image = {name: encode(value) for name, value in item.items()}
        self.clients.dynamodb.put_item(TableName=source, Item=for_boto3(image))

    def delete(self, source: str, key: dict[str, Any]) -> None:
        image = {name: encode(value) for name, value in key.items()}
        self.clients.dynamodb.delete_item(TableName=source, Key=for_boto3(image))

    def settle(self) -> int:
        """Sync until every stream is read, and return the number of records of the sources."""
        settled = sum(source.drain() for source in self.sources)
        if self.totals:
            self.totals.drain()
        return settled

    def query(self, pattern: str, /, **parameters: object) -> list[Attributes]:
        """Return all rows of an access pattern."""
        return [answered.row for answered in self.query_engine.rows(pattern, **parameters)]

    @property
    def query_engine(self) -> QueryEngine:
        reader = HttpReader(direct_client_to(self.engine))
        return QueryEngine(self.registry, ViewReader(reader, VIEW_TABLE), self.pending)

    def rows(self) -> list[Attributes]:
        """Return all rows of the view."""
        pages = self.clients.dynamodb.get_paginator("scan").paginate(TableName=VIEW_TABLE)
        return [from_boto3(row) for page in pages for row in page["Items"]]

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment in which the commands use this cloud."""
        pending = PendingPatterns(self.pending).to_env()
        return environment_of(self.engine, self.queue_url) | pending

    def peek_letters(self) -> list[AnyLetter]:
        """Return up to ten dead letters, and leave them in the queue."""
        response = self.clients.sqs.receive_message(
            QueueUrl=self.queue_url, MaxNumberOfMessages=10, VisibilityTimeout=0
        )
        return [from_json(message["Body"]) for message in response.get("Messages", [])]

    def letters(self) -> list[dict[str, Any]]:
        """Remove all dead letters from the queue, and return them."""
        return [json.loads(body) for body in self.letter_bodies()]

    def letter_bodies(self) -> list[str]:
        """Remove all dead letters from the queue, and return them as text."""
        taken: list[str] = []
        while messages := self._receive():
            taken += (message["Body"] for message in messages)
        return taken

    def _receive(self) -> list[Any]:
        sqs = self.clients.sqs
        response = sqs.receive_message(QueueUrl=self.queue_url, MaxNumberOfMessages=10)
        messages = list(response.get("Messages", []))
        for message in messages:
            sqs.delete_message(QueueUrl=self.queue_url, ReceiptHandle=message["ReceiptHandle"])
        return messages
