"""moto as a server in this process, without lost writes.

moto's tables are dictionaries without a lock: if two writes create the same partition at once, one
may be lost. So its DynamoDB processes one request at a time. Its queues do not: a receiver that
waits for a message must not block the sender.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from logging import ERROR, getLogger
from threading import Lock, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

HOST = "127.0.0.1"
ONE_AT_A_TIME = Lock()  # of the process, as moto's state is


@contextmanager
def moto_server(port: int = 0) -> Iterator[str]:
    """Run moto on a port, by default on a free one, and yield its URL."""
    # Imported here because they take a second.
    from moto.moto_server.werkzeug_app import (  # noqa: PLC0415
        DomainDispatcherApplication,
        MotoRequestHandler,
        create_backend_app,
    )
    from werkzeug.serving import make_server  # noqa: PLC0415

    getLogger("werkzeug").setLevel(ERROR)  # it would log every request
    app = serialized(DomainDispatcherApplication(create_backend_app))
    server = make_server(HOST, port, app, threaded=True, request_handler=MotoRequestHandler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def serialized(app: "WSGIApplication") -> "WSGIApplication":
    """Process one request to DynamoDB and its streams at a time."""

    def respond(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        if not environ.get("HTTP_X_AMZ_TARGET", "").startswith("DynamoDB"):
            return app(environ, start_response)
        with ONE_AT_A_TIME:
            return app(environ, start_response)

    return respond
