"""`adminview serve`: the HTTP API locally, with the same routes and responses.

It emulates API Gateway in two ways: it decodes the path before routing, as an HTTP API does, and
passes requests in payload format 2.0. It has no authorization. It also serves pages for people.
"""

import ipaddress
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET6
from threading import Event, Lock, Thread
from types import SimpleNamespace
from typing import Annotated, Any, Final
from urllib.parse import unquote, urlsplit
from uuid import uuid4

import typer
from aws_lambda_powertools import Logger

from adminview.aws.boto3_clients import dynamodb_client
from adminview.aws.deadline import Deadline
from adminview.aws.settings import SERVICE
from adminview.aws.stack_outputs import find_pending
from adminview.aws.view_reader import Boto3Reader, ViewReader
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import find_settings
from adminview.cli.options import Prefix, Stage
from adminview.cli.output.printing import echo
from adminview.http_api.handlers import HEADERS, Api
from adminview.http_api.health import NoAlarms
from adminview.http_api.paths import CORS_EXPOSED, CORS_HEADERS
from adminview.http_api.problems import ProblemError
from adminview.local.pages import respond
from adminview.query.engine import QueryEngine
from adminview.views import registry

LOOPBACK: Final = "127.0.0.1"
PORT: Final = 8080
LOOK_SECONDS: Final = 5.0  # to check at the start that the view table exists
UNKNOWN_HOST: Final = (
    "the Host header is not a loopback address; other names are refused against DNS rebinding"
)


@dataclass
class LocalGateway:
    """The API behind a lock: Powertools keeps the current request in a class attribute."""

    api: Api
    origins: Sequence[str] = ()
    any_host: bool = False
    lock: Lock = field(default_factory=Lock)

    def answer(self, method: str, target: str, headers: Mapping[str, str]) -> dict[str, Any]:
        """Return the API's response, with CORS headers for an allowed origin."""
        headers = {name.lower(): value for name, value in headers.items()}
        if not self.any_host and not _is_loopback(_host(headers.get("host", ""))):
            return _refusal(HTTPStatus.MISDIRECTED_REQUEST, UNKNOWN_HOST)
        allowed = headers.get("origin") in self.origins
        if allowed and method == "OPTIONS":
            answer: dict[str, Any] = {"statusCode": 204, "headers": dict(HEADERS), "body": ""}
        else:
            answer = respond(self.api, method, target) or self._call(method, target, headers)
        if allowed:
            answer["headers"] |= {
                "Access-Control-Allow-Origin": headers["origin"],
                "Access-Control-Allow-Headers": ",".join(CORS_HEADERS),
                "Access-Control-Expose-Headers": ",".join(CORS_EXPOSED),
                "Vary": "Origin",
            }
        return answer

    def _call(self, method: str, target: str, headers: Mapping[str, str]) -> dict[str, Any]:
        with self.lock:
            return self.api(event(method, target, headers), _context())


def _host(header: str) -> str | None:
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

    def __init__(self, host: str, port: int, gateway: LocalGateway) -> None:
        if ":" in host:
            self.address_family = AF_INET6
        self.gateway = gateway
        super().__init__((host, port), _Request)

    @property
    def url(self) -> str:
        host, port = str(self.server_address[0]), self.server_address[1]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "adminview", ""
    timeout = 60  # seconds before an idle connection is closed
    server: Server

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Route every HTTP method to the API, which decides which ones are allowed."""
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def send_error(self, code: int, message: str | None = None, _: str | None = None) -> None:
        """Respond to a malformed request in the same format as the API does."""
        status = HTTPStatus(code)
        self._send(_refusal(status, message or status.description))

    def _answer(self) -> None:
        self._send(self.server.gateway.answer(self.command, self.path, dict(self.headers)))

    def _send(self, answer: dict[str, Any]) -> None:
        body = answer["body"].encode()
        self.send_response(answer["statusCode"])
        for name, value in answer["headers"].items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        # The request body was not read, so the connection cannot be reused.
        self.send_header("Connection", "close")
        self.close_connection = True
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing: a path contains keys."""


def serve(  # noqa: PLR0913 - all are keywords
    *,
    port: Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)] = PORT,
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than loopback need --expose.")
    ] = LOOPBACK,
    expose: Annotated[
        bool,
        typer.Option(
            "--expose", help="Serve other machines. Everyone who can connect can read the view."
        ),
    ] = False,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            help="Allow this origin (CORS), such as http://localhost:5173; may be repeated."
        ),
    ] = None,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Serve the HTTP API locally, on the tables of AWS_ENDPOINT_URL or of a deployed stage."""
    if not expose and not _is_loopback(host):
        msg = (
            f"host {host!r} can be reached from other machines, and this server has no "
            "authorization: give --expose if everyone who can connect may read the view"
        )
        raise typer.BadParameter(msg, param_hint="--host")
    deployment = Deployment.from_options(stage, prefix, os.environ)
    settings = find_settings(registry(), deployment)
    pending = find_pending(registry(), deployment)
    reader = ViewReader(Boto3Reader(dynamodb_client()), settings.view_table)
    reader.get([("is", "it there?")], deadline=Deadline.after(LOOK_SECONDS))
    api = make_api(QueryEngine(registry(), reader, pending))
    server = Server(host, port, LocalGateway(api, origin or [], any_host=expose))
    where = "exposed to other machines" if expose else "on loopback only"
    echo(f"serving {settings.view_table} at {server.url}, without authorization, {where}")
    echo(f"open {server.url}/ for the access patterns and the API reference; Ctrl-C to stop")
    echo("view files are read once: restart this command after you change one")
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    Thread(target=server.serve_forever, daemon=True).start()
    stop.wait()
    server.shutdown()
    server.server_close()
    echo("stopped")


def make_api(engine: QueryEngine) -> Api:
    return Api(engine, NoAlarms(), engine.registry.fingerprint, Logger(service=SERVICE))


def _is_loopback(host: str | None) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def _refusal(status: HTTPStatus, why: str) -> dict[str, Any]:
    response = ProblemError(status, why).response()
    return {
        "statusCode": response.status_code,
        "headers": {**response.headers, **HEADERS},
        "body": response.body,
    }


def _context() -> Any:
    return SimpleNamespace(aws_request_id=str(uuid4()))
