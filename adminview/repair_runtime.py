"""What repairs work with."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from adminview.aws.clients import streams_client
from adminview.aws.dead_letter_consumer import WAIT_SECONDS, DeadLetterConsumer
from adminview.aws.dead_letter_producer import DeadLetterProducer
from adminview.aws.deadline import Deadline
from adminview.aws.row_store import RowStore
from adminview.aws.settings import Settings
from adminview.aws.source_tables import SourceTables
from adminview.aws.streams import Streams
from adminview.dead_letters.replay import Replayer
from adminview.dead_letters.resolve import LetterResolver
from adminview.model import Registry
from adminview.model.delivery import NEXT_TRY_SECONDS
from adminview.model.item import AttributeValue, encode
from adminview.reconcile.equality import canonical
from adminview.reconcile.item_ref import ItemRef, target_by_key
from adminview.reconcile.reconciler import Reconciled, Reconciler
from adminview.runtime import Clients, Mail, Post, read_settings
from adminview.sync.decode import routes
from adminview.views import registry

if TYPE_CHECKING:
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient


@dataclass(frozen=True, slots=True)
class Patience:
    """How long letters wait, in seconds: on AWS as here, on a laptop not at all."""

    for_letters: int = WAIT_SECONDS
    before_retry: int = NEXT_TRY_SECONDS


@cache
def replayer() -> Replayer:
    """Make the replayer of this container from its environment."""
    return make_replayer(registry(), read_settings(), Clients(), streams_client())


def make_replayer(
    model: Registry,
    settings: Settings,
    clients: Clients,
    streams: "DynamoDBStreamsClient",
    patience: Patience | None = None,
) -> Replayer:
    """Connect a model to the tables, the streams and the queue that *settings* name."""
    patience = patience or Patience()
    queue = settings.dead_letter_queue_url
    return Replayer(
        errands=LetterResolver(routes(model, settings.sources), Streams(streams)),
        reconciler=make_reconciler(settings, clients),
        mailbox=DeadLetterConsumer(clients.sqs, queue, wait_seconds=patience.for_letters),
        post=DeadLetterProducer(clients.sqs, queue),
        retry_seconds=patience.before_retry,
    )


def make_reconciler(settings: Settings, clients: Clients, post: Post | None = None) -> Reconciler:
    """Connect the sources to their rows; in-doubt letters go to *post*, or else to the queue."""
    return Reconciler(
        sources=SourceTables(clients.dynamodb),
        rows=RowStore(clients.dynamodb, settings.view_table),
        model=settings.model,
        post=post or Mail(clients, settings.dead_letter_queue_url),
    )


def target_of(
    model: Registry, settings: Settings, source: str, key: Mapping[str, AttributeValue]
) -> ItemRef:
    """Name an item of a source, by its key in DynamoDB JSON."""
    found = model.source(source)
    by_source = {route.source: route for route in routes(model, settings.sources).values()}
    return target_by_key(by_source[found], key)


def reconcile(source: str, key: Mapping[str, object], *, seconds: float = 30.0) -> Reconciled:
    """Make one item's rows what its source says now, where this container's settings point.

    For other functions of a deployment: ``reconcile("Orders", {"CustomerId": ..., "SK": ...})``.
    """
    settings = read_settings()
    target = target_of(
        registry(), settings, source, canonical({name: encode(key[name]) for name in key})
    )
    until = Deadline.after(seconds)
    return make_reconciler(settings, Clients()).reconcile(target, until=until)
