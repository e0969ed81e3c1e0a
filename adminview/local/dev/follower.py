"""Invoke the deployed functions with stream batches, and change the model between two batches."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING, Any

from adminview.handlers.sync import PartialBatchResponse, sync
from adminview.handlers.totals import TotalsRuntime, WindowResponse, add_up
from adminview.local.event_source import EventSource
from adminview.local.event_source.on_failure import no_destination, on_failure
from adminview.model.delivery import TOTALS_DELIVERY, Delivery
from adminview.runtime import Runtime

if TYPE_CHECKING:
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient

PAUSE_SECONDS = 0.5  # between two reads of an idle stream
# No batching window: locally, a fuller batch is not worth waiting for.
DELIVERY = replace(Delivery(), window_seconds=0)
TOTALS = replace(TOTALS_DELIVERY, window_seconds=0)


class Follower:
    """An event source per stream, each in a thread of its own.

    The position in a stream is kept while it is not followed, so no record is delivered twice.
    """

    def __init__(self, client: Callable[[], "DynamoDBStreamsClient"]) -> None:
        self._client = client
        self._sources: dict[str, EventSource] = {}  # by ARN
        self._stop = Event()
        self._pool: ThreadPoolExecutor | None = None
        self._running: list[Future[None]] = []
        self._runtime: Runtime | None = None
        self._totals: TotalsRuntime | None = None

    def follow(
        self, runtime: Runtime, streams: Iterable[str], totals: TotalsRuntime, view: str | None
    ) -> None:
        """Deliver the *streams* to the sync, and the stream of the *view* to the totals function.

        Call it only while no stream is followed.
        """
        self._runtime, self._totals = runtime, totals
        followed = [self._sources.get(arn) or self._sync_source(arn) for arn in streams]
        if view:
            followed.append(self._sources.get(view) or self._totals_source(view))
        self._sources |= {source.stream_arn: source for source in followed}
        self._stop = Event()
        self._pool = ThreadPoolExecutor(max(1, len(followed)))
        self._running = [
            self._pool.submit(source.run, self._stop, pause=PAUSE_SECONDS) for source in followed
        ]

    def pause(self) -> None:
        """Finish the batches in progress, and stop following all streams."""
        self._stop.set()
        if self._pool:
            self._pool.shutdown()
            self._pool = None

    def forget(self, stream: str) -> None:
        """Forget a stream whose table was deleted."""
        self._sources.pop(stream, None)

    def check(self) -> None:
        """Raise the error that ended a thread, if one did."""
        for future in self._running:
            if future.done():
                future.result()

    def _sync_source(self, arn: str) -> EventSource:
        assert self._runtime
        return EventSource(
            streams=self._client(),
            stream_arn=arn,
            handler=self._sync,
            on_failure=on_failure(self._runtime.dead_letters),
            delivery=DELIVERY,
        )

    def _totals_source(self, arn: str) -> EventSource:
        return EventSource(
            streams=self._client(),
            stream_arn=arn,
            handler=self._add_up,
            on_failure=no_destination,
            delivery=TOTALS,
            function_name="adminview-totals",
        )

    def _sync(self, event: dict[str, Any], context: Any) -> PartialBatchResponse:
        assert self._runtime
        return sync({"Records": event["Records"]}, context, self._runtime)

    def _add_up(self, event: dict[str, Any], context: Any) -> WindowResponse:
        assert self._totals
        return add_up(event, context, self._totals)
