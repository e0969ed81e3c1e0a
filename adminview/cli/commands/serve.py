"""The HTTP API on this machine, for whoever writes the front end: the same routes and answers.

An emulation of the gateway in two things: it decodes the path before it is routed, as an HTTP API
does, and hands requests over in payload format 2.0. It asks nobody who they are.
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
from adminview.aws.view_reader import ViewReader
from adminview.aws.view_readers import Boto3Reader
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import find_pending, find_settings
from adminview.cli.options import Prefix, Stage
from adminview.cli.output.printing import echo
from adminview.http_api.handlers import HEADERS, Api
from adminview.http_api.health import NoMetrics
from adminview.http_api.paths import CORS_EXPOSED, CORS_HEADERS
from adminview.http_api.problems import ProblemError
from adminview.model.errors import SettingsError
from adminview.query.engine import QueryEngine
from adminview.views import registry

LOOPBACK: Final = "127.0.0.1"
PORT: Final = 8080
LOOK_SECONDS: Final = 5.0  # to see, once, that there is a view to serve
STRANGE_HOST: Final = (
    "this server answers to its own name alone, so that no web page can reach it under another"
)


@dataclass
class LocalGateway:
    """The API, asked by one request at a time: Powertools keeps the current one in its class."""

    api: Api
    origins: Sequence[str] = ()
    any_host: bool = False
    lock: Lock = field(default_factory=Lock)

    def answer(self, method: str, target: str, headers: Mapping[str, str]) -> dict[str, Any]:
        """Answer a request, with leave for the origins that were named."""
        given = {name.lower(): value for name, value in headers.items()}
        if not self.any_host and not _is_loopback(_host(given.get("host", ""))):
            return _refusal(HTTPStatus.MISDIRECTED_REQUEST, STRANGE_HOST)
        allowed = given.get("origin") in self.origins
        if allowed and method == "OPTIONS":
            answer: dict[str, Any] = {"statusCode": 204, "headers": dict(HEADERS), "body": ""}
        else:
            with self.lock:
                answer = self.api(event(method, target, given), _context())
        if allowed:
            answer["headers"] |= {
                "Access-Control-Allow-Origin": given["origin"],
                "Access-Control-Allow-Headers": ",".join(CORS_HEADERS),
                "Access-Control-Expose-Headers": ",".join(CORS_EXPOSED),
                "Vary": "Origin",
            }
        return answer


def _host(header: str) -> str | None:
    """Read a Host header; a browser sends nothing else in it."""
    try:
        return None if "@" in header else urlsplit(f"//{header}").hostname
    except ValueError:
        return None


def event(method: str, target: str, headers: Mapping[str, str]) -> dict[str, Any]:
    """Write a request as an HTTP API does: the path decoded, the query as it came."""
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
    """Serves a desk on one port."""

    daemon_threads = True

    def __init__(self, host: str, port: int, desk: LocalGateway) -> None:
        if ":" in host:
            self.address_family = AF_INET6
        self.desk = desk
        super().__init__((host, port), _Request)

    @property
    def url(self) -> str:
        """Say where it is."""
        host, port = str(self.server_address[0]), self.server_address[1]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "adminview", ""
    timeout = 60  # seconds that a silent connection is kept
    server: Server

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Take every method; the API knows which ones there are."""
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def send_error(self, code: int, message: str | None = None, _: str | None = None) -> None:
        """Refuse what is no request at all in the same form as what is a wrong one."""
        status = HTTPStatus(code)
        self._send(_refusal(status, message or status.description))

    def _answer(self) -> None:
        self._send(self.server.desk.answer(self.command, self.path, dict(self.headers)))

    def _send(self, answer: dict[str, Any]) -> None:
        body = answer["body"].encode()
        self.send_response(answer["statusCode"])
        for name, value in answer["headers"].items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        # A body that came with the request was not read.
        self.send_header("Connection", "close")
        self.close_connection = True
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing: a path holds keys."""


def serve(  # noqa: PLR0913 - all are keywords
    *,
    port: Annotated[int, typer.Option(help="Where to listen.", min=0, max=65535)] = PORT,
    host: Annotated[str, typer.Option(help="Where to listen; this machine alone.")] = LOOPBACK,
    expose: Annotated[
        bool, typer.Option("--expose", help="Allow another host: whoever reaches it may read all.")
    ] = False,
    origin: Annotated[
        list[str] | None,
        typer.Option(help="Let pages of this origin ask (CORS), as in http://localhost:5173."),
    ] = None,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Serve the HTTP API on this machine, over AWS_ENDPOINT_URL or a deployed stage."""
    if not expose and not _is_loopback(host):
        msg = (
            f"host {host!r} can be reached from other machines, and this server asks nobody for "
            "authorization: give --expose if everyone who reaches it may read the view"
        )
        raise SettingsError(msg)
    deployment = Deployment.from_options(stage, prefix, os.environ)
    settings = find_settings(registry(), deployment)
    pending = find_pending(registry(), deployment)
    reader = ViewReader(Boto3Reader(dynamodb_client()), settings.view_table)
    reader.get([("is", "it there?")], deadline=Deadline.after(LOOK_SECONDS))
    asker = QueryEngine(registry(), reader, pending)
    api = Api(asker, NoMetrics(), registry().fingerprint, Logger(service=SERVICE))
    server = Server(host, port, LocalGateway(api, origin or [], any_host=expose))
    where = "exposed to other machines" if expose else "on loopback alone"
    echo(f"serving {settings.view_table} at {server.url}, without authorization, {where}")
    echo(f"the questions: {server.url}/patterns (Ctrl-C stops)")
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    Thread(target=server.serve_forever, daemon=True).start()
    stop.wait()
    server.shutdown()
    server.server_close()
    echo("stopped")


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
