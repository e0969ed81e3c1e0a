"""AdminView's handler with the runtime of a deployed function."""

from dataclasses import replace

from adminview.handlers.sync import sync
from adminview.runtime import Runtime, runtime
from adminview.sync.decode import routes
from bench.contenders import Event, Handler
from bench.contenders.lambda_context import BenchContext
from bench.model import registry


def connect() -> Handler:
    """Return the handler of a deployment, with the views of the benchmark."""
    runtime.cache_clear()  # it may have been built for another environment
    return make_handler(replace(runtime(), routes=routes(registry(), {})))


def make_handler(runtime: Runtime) -> Handler:
    """Return a handler that syncs with *runtime*, and fails if a record fails."""

    def handle(event: Event) -> None:
        assert sync({"Records": event["Records"]}, BenchContext(), runtime) == {
            "batchItemFailures": []
        }

    return handle
