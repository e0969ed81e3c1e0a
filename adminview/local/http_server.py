"""A local HTTP server for the API.

It emulates API Gateway in two ways: it decodes the path before routing, as an HTTP API does, and
passes requests in payload format 2.0.

A client that sends half a request holds a thread only until the time for a request is over, and no
more than a fixed number of threads.
"""

import ipaddress
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import EADDRINUSE
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader, RawIOBase
from socket import AF_INET6, socket
from threading import BoundedSemaphore, Lock, Thread
from time import monotonic
from types import SimpleNamespace
from typing import Any, Final, Protocol
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from adminview.http_api.handlers import HEADERS, Api
from adminview.http_api.paths import CORS_EXPOSED, CORS_HEADERS
from adminview.http_api.problems import ProblemError
from adminview.local.pages import respond
from adminview.model.errors import SettingsError

LOOPBACK: Final = "127.0.0.1"
UNKNOWN_HOST: Final = (
    "the Host header is not a loopback address; other names are refused against DNS rebinding"
)
DRAINED: Final = 4 * 1024 * 1024  # bytes of a body that is too long
NO_LENGTH: Final = "a request with a body needs a Content-Length"
REQUEST_SECONDS: Final = 10.0  # from the connection to the last byte of the request
RESPONSE_SECONDS: Final = 60.0  # to send a response
MOST_CONNECTIONS: Final = 64  # a browser opens six
TOO_MANY: Final = "too many connections are open; try again in a moment"


# Powertools keeps the current request in a class attribute, which all APIs of a process share.
CURRENT_REQUEST: Final = Lock()


class Gateway(Protocol):
    """Answers requests."""

    body_limit: int  # bytes; 0 if bodies are ignored

    def answer(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes = b""
    ) -> dict[str, Any]: ...


@dataclass
class LocalGateway:
    """The API behind a lock."""

    api: Api
    origins: Sequence[str] = ()
    any_host: bool = False
    body_limit: int = 0

    def answer(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes = b"",  # noqa: ARG002 - a query has none
    ) -> dict[str, Any]:
        """Return the API's response, with CORS headers for an allowed origin."""
        headers = {name.lower(): value for name, value in headers.items()}
        if not self.any_host and not is_loopback(host_name(headers.get("host", ""))):
            return refuse(HTTPStatus.MISDIRECTED_REQUEST, UNKNOWN_HOST)
        allowed = headers.get("origin") in self.origins
        if allowed and method == "OPTIONS":
            answer: dict[str, Any] = {"statusCode": 204, "headers": dict(HEADERS), "body": ""}
        else:
            answer = respond(self.api, method, target) or self.query(method, target, headers)
        if allowed:
            answer["headers"] |= {
                "Access-Control-Allow-Origin": headers["origin"],
                "Access-Control-Allow-Headers": ",".join(CORS_HEADERS),
                "Access-Control-Expose-Headers": ",".join(CORS_EXPOSED),
                "Vary": "Origin",
            }
        return answer

    def query(self, method: str, target: str, headers: Mapping[str, str]) -> dict[str, Any]:
        """Return the API's response alone."""
        with CURRENT_REQUEST:
            return self.api(event(method, target, headers), _context())


def host_name(header: str) -> str | None:
    """Return the host name of a Host header, or None if it is malformed."""
    try:
        return None if "@" in header else urlsplit(f"//{header}").hostname
    except ValueError:
        return None


def event(method: str, target: str, headers: Mapping[str, str]) -> dict[str, Any]:
    """Build the event of an HTTP API: decoded path, raw query string."""
    path, _, query = target.partition("?")
    return {
        "version": "2.0",
        "rawPath": unquote(path),
        "rawQueryString": query,
        "headers": dict(headers),
        "requestContext": {"http": {"method": method}, "stage": "$default"},
        "isBase64Encoded": False,
    }


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = MOST_CONNECTIONS

    def __init__(
        self,
        host: str,
        port: int,
        gateway: Gateway,
        *,
        request_seconds: float = REQUEST_SECONDS,
        most_connections: int = MOST_CONNECTIONS,
    ) -> None:
        if ":" in host:
            self.address_family = AF_INET6
        self.gateway = gateway
        self.request_seconds = request_seconds
        self._free = BoundedSemaphore(most_connections)
        try:
            super().__init__((host, port), _Request)
        except OSError as error:
            if error.errno != EADDRINUSE:
                raise
            msg = f"port {port} of {host} is in use: choose another with --port"
            raise SettingsError(msg) from error

    @contextmanager
    def running(self) -> Iterator["Server"]:
        """Serve in a thread until the block ends."""
        Thread(target=self.serve_forever, daemon=True).start()
        try:
            yield self
        finally:
            self.shutdown()
            self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Handle a connection in a thread, or refuse it if there are too many."""
        if not self._free.acquire(blocking=False):
            with suppress(OSError):  # the other side may be gone; it must not delay others
                request.settimeout(0)
                request.send(_OVERLOADED)
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread was started
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print an error, except that the other side has closed the connection."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        host, port = str(self.server_address[0]), self.server_address[1]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "adminview", ""
    server: Server

    def setup(self) -> None:
        super().setup()
        self.rfile = BufferedReader(_TimedReader(self.connection, self.server.request_seconds))

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Route every HTTP method to the API, which decides which ones are allowed."""
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def send_error(self, code: int, message: str | None = None, _: str | None = None) -> None:
        """Respond to a malformed request in the same format as the API does."""
        status = HTTPStatus(code)
        self._send(refuse(status, message or status.description))

    def _answer(self) -> None:
        body = self._body() if self.server.gateway.body_limit else b""
        if body is not None:
            headers = dict(self.headers)
            self._send(self.server.gateway.answer(self.command, self.path, headers, body))

    def _body(self) -> bytes | None:
        """Read the body; None if it was refused."""
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdigit()):
            self._send(refuse(HTTPStatus.LENGTH_REQUIRED, NO_LENGTH))
            return None
        limit = self.server.gateway.body_limit
        if len(length) > len(str(limit)) or int(length) > limit:
            self.rfile.read(min(int(length[:9]), DRAINED))  # else the client may see no response
            detail = f"the body has {length[:20]} bytes; the limit is {limit}"
            self._send(refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail))
            return None
        return self.rfile.read(int(length))

    def _send(self, answer: dict[str, Any]) -> None:
        body = answer["body"]
        body = body if isinstance(body, bytes) else body.encode()
        self.send_response(answer["statusCode"])
        for name, value in answer["headers"].items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        # The request body may not have been read, so the connection cannot be reused.
        self.send_header("Connection", "close")
        self.close_connection = True
        self.connection.settimeout(RESPONSE_SECONDS)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing: a path contains keys."""


class _TimedReader(RawIOBase):
    """Reads from a socket until a time is over, however often a byte arrives."""

    def __init__(self, connection: socket, seconds: float) -> None:
        self._connection = connection
        self._end = monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._end - monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


def is_loopback(host: str | None) -> bool:
    """Return whether a host name or address is of this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def refuse(status: HTTPStatus, why: str) -> dict[str, Any]:
    """Return a problem in the form of a gateway."""
    response = ProblemError(status, why).response()
    return {
        "statusCode": response.status_code,
        "headers": {**response.headers, **HEADERS},
        "body": response.body,
    }


def _raw(answer: dict[str, Any]) -> bytes:
    """Return a response as it is sent to a client whose request was not read."""
    body: bytes = answer["body"].encode()
    status = HTTPStatus(answer["statusCode"])
    headers = {**answer["headers"], "Content-Length": len(body), "Connection": "close"}
    lines = [f"HTTP/1.1 {status.value} {status.phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


_OVERLOADED: Final = _raw(refuse(HTTPStatus.SERVICE_UNAVAILABLE, TOO_MANY))


def _context() -> Any:
    return SimpleNamespace(aws_request_id=str(uuid4()))
