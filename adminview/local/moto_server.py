"""moto as a server in this process, without lost writes and with all digits of a sum.

moto's tables are dictionaries without a lock: if two writes create the same partition at once, one
may be lost. So its DynamoDB processes one request at a time. Its queues do not: a receiver that
waits for a message must not block the sender.

moto adds numbers with Python's default of 28 digits, and cannot add to a sum that it wrote as
``0E-9``. Here it adds with the 38 digits of DynamoDB. It rounds a sum that needs more, which
DynamoDB refuses.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Context, Decimal
from functools import cache
from logging import ERROR, getLogger
from socket import create_server, socket
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from adminview.model.item import DIGITS, normalize_number

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

HOST = "127.0.0.1"
EXACT = Context(prec=DIGITS)
OTHER_SERVICE = (
    b"<ErrorResponse><Error><Code>UnsupportedService</Code>"
    b"<Message>this engine has only DynamoDB and SQS</Message></Error></ErrorResponse>"
)
ONE_AT_A_TIME = Lock()  # of the process, as moto's state is


@contextmanager
def moto_server(port: int = 0) -> Iterator[str]:
    """Run moto on a port, or on a free one if it is taken or 0, and yield its URL."""
    # Imported here because they take a second.
    from moto.moto_server.werkzeug_app import (  # noqa: PLC0415
        DomainDispatcherApplication,
        MotoRequestHandler,
        create_backend_app,
    )
    from werkzeug.serving import make_server  # noqa: PLC0415

    _add_exactly()
    getLogger("werkzeug").setLevel(ERROR)  # it would log every request
    app = serialized(without_others(DomainDispatcherApplication(create_backend_app)))
    with _listen(port) as listener:  # werkzeug would print if the port is taken, and exit
        server = make_server(
            HOST,
            listener.getsockname()[1],
            app,
            threaded=True,
            request_handler=MotoRequestHandler,
            fd=listener.fileno(),
        )
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _listen(port: int) -> socket:
    try:
        return create_server((HOST, port))
    except OSError:
        return create_server((HOST, 0))


def without_others(app: "WSGIApplication") -> "WSGIApplication":
    """Refuse requests to services that moto cannot load: only what we need is installed."""

    def respond(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        try:
            return app(environ, start_response)
        except ImportError:
            start_response("400 Bad Request", [("Content-Type", "text/xml")])
            return [OTHER_SERVICE]

    return respond


def serialized(app: "WSGIApplication") -> "WSGIApplication":
    """Process one request to DynamoDB and its streams at a time."""

    def respond(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        if not environ.get("HTTP_X_AMZ_TARGET", "").startswith("DynamoDB"):
            return app(environ, start_response)
        with ONE_AT_A_TIME:
            return app(environ, start_response)

    return respond


@cache  # once per process
def _add_exactly() -> None:
    """Make moto add two numbers as DynamoDB does."""
    from moto.dynamodb.models.dynamo_type import DynamoType  # noqa: PLC0415

    add = DynamoType.__add__

    def add_exactly(self: Any, other: Any) -> DynamoType:
        if not self.type == other.type == "N":
            return add(self, other)
        total = EXACT.add(Decimal(self.value), Decimal(other.value))
        return DynamoType({"N": normalize_number(total)})

    DynamoType.__add__ = add_exactly  # type: ignore[method-assign]
