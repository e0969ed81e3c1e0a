"""AdminView's own handler with the runtime that it makes for itself when it is deployed."""

from dataclasses import replace

from adminview.handlers.sync import sync
from adminview.runtime import Runtime, runtime
from adminview.sync.decode import routes
from bench.model import registry
from bench.ways import Event, Handle
from bench.ways.invocation import Invocation


def connect() -> Handle:
    """Make the handler; only the views are others than those that are deployed."""
    runtime.cache_clear()  # it may have been made for another environment
    return handler_of(replace(runtime(), routes=routes(registry(), {})))


def handler_of(runtime: Runtime) -> Handle:
    """Sync with a runtime, and let nothing be left over."""

    def handle(event: Event) -> None:
        assert sync({"Records": event["Records"]}, Invocation(), runtime) == {
            "batchItemFailures": []
        }

    return handle
