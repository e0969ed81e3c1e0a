"""AdminView's handler with the runtime of a deployed function."""

from dataclasses import replace

from adminview.handlers.sync import sync
from adminview.runtime import Runtime, runtime
from adminview.sync.decode import routes
from bench.model import registry
from bench.ways import Event, Handle
from bench.ways.invocation import Invocation


def connect() -> Handle:
    """Return the handler; only its views differ from those of a deployment."""
    runtime.cache_clear()  # it may be that of another environment
    return handler_of(replace(runtime(), routes=routes(registry(), {})))


def handler_of(runtime: Runtime) -> Handle:
    """Return a handler that syncs with *runtime*, and fails if a record is left."""

    def handle(event: Event) -> None:
        assert sync({"Records": event["Records"]}, Invocation(), runtime) == {
            "batchItemFailures": []
        }

    return handle
