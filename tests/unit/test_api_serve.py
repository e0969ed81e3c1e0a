"""`adminview serve` and the function: the same API behind a socket and behind a gateway."""

import socket
from collections.abc import Iterator
from contextlib import nullcontext
from http.client import HTTPConnection
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from adminview.aws.manifest import Manifest
from adminview.aws.settings import PendingPatterns, Settings
from adminview.cli.commands import serve as serving
from adminview.cli.shutdown import Shutdown
from adminview.handlers import api as function
from adminview.local.http_server import LOOPBACK, LocalGateway, Server, event
from adminview.model.errors import SettingsError
from adminview.runtime import read_settings
from tests.support.api_client import Client
from tests.support.model import registry
from tests.support.query_table import Lab, make_registry

PANEL = "http://localhost:5173"


def client() -> Client:
    return Client(Lab(make_registry()).query_engine)


def test_a_port_in_use_is_refused_with_the_option_for_another(port: int) -> None:
    with pytest.raises(SettingsError, match=f"port {port} of .* is in use: choose .* --port"):
        Server(LOOPBACK, port, client().gateway)


@pytest.fixture
def port() -> Iterator[int]:
    """Serve on a free port."""
    with Server(LOOPBACK, 0, client().gateway).running() as server:
        yield int(server.server_address[1])


def test_a_request_becomes_an_event_of_the_gateway() -> None:
    request = event("GET", "/rows/USER%23%C3%A4%2F1/a%2520b?x=%23&x=2", {"accept": "*/*"})
    assert request["rawPath"] == "/rows/USER#ä/1/a%20b"  # decoded once, as the gateway does
    assert request["rawQueryString"] == "x=%23&x=2"
    assert request["requestContext"]["http"]["method"] == "GET"


def test_the_server_answers_over_http(port: int) -> None:
    connection = HTTPConnection(LOOPBACK, port, timeout=10)
    for method, path, status in (
        ("GET", "/health", 200),
        ("HEAD", "/health", 405),
        ("POST", "/patterns", 405),
        ("BREW", "/patterns", 405),
        ("GET", "/nope", 404),
    ):
        connection.request(method, path)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == status
        assert int(answer.headers["Content-Length"]) > 0
        assert bool(body) == (method != "HEAD")


def test_what_is_no_request_at_all_is_a_problem_too(port: int) -> None:
    with socket.create_connection((LOOPBACK, port), timeout=10) as raw:
        raw.sendall(b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n")
        head = raw.recv(65536)
    assert head.startswith(b"HTTP/1.1 414")
    assert b"application/problem+json" in head


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8080", "", "10.0.0.1", "[::2]:80", "[", "evil@localhost"]
)
def test_a_page_that_points_its_own_name_at_this_machine_learns_nothing(host: str) -> None:
    requested = client()
    assert requested.send("/patterns", Host=host).status == 421
    requested.gateway.any_host = True
    assert requested.send("/patterns", Host=host).status == 200


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8080", "[::1]:8080"])
def test_this_machine_answers_to_its_own_names(host: str) -> None:
    assert client().send("/patterns", Host=host).status == 200


def test_only_the_configured_origins_may_query() -> None:
    requested = client()
    assert "Access-Control-Allow-Origin" not in requested.send("/patterns", Origin=PANEL).headers
    assert requested.send("/patterns", "OPTIONS", Origin=PANEL).status == 405
    requested.gateway.origins = [PANEL]
    assert requested.send("/patterns", "OPTIONS", Origin=PANEL).status == 204
    allowed = requested.send("/patterns", Origin=PANEL).headers
    assert allowed["Access-Control-Allow-Origin"] == PANEL
    other = requested.send("/patterns", Origin="http://evil.example")
    assert "Access-Control-Allow-Origin" not in other.headers


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "shop.example"])  # noqa: S104 - refused
def test_another_host_is_refused_unless_it_is_to_be_exposed(host: str) -> None:
    with pytest.raises(typer.BadParameter, match="give --expose if everyone who can connect"):
        serving.serve(host=host)


@pytest.mark.parametrize("expose", [False, True])
def test_serving_says_where_and_for_whom_until_it_is_stopped(
    expose: bool,  # noqa: FBT001 - a case
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stop = Shutdown()
    stop.event.set()
    monkeypatch.setattr(serving, "graceful_shutdown", lambda: nullcontext(stop))
    monkeypatch.setattr("adminview.cli.commands.serve.ViewReader.get", lambda *_, **__: {})
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setattr("adminview.cli.deployment.find.check_endpoints", lambda *_: None)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("ADMINVIEW_TABLE", raising=False)
    monkeypatch.setenv("ADMINVIEW_PENDING_PATTERNS", '{"orders-by-status": null}')
    served: list[LocalGateway] = []
    monkeypatch.setattr(
        serving, "LocalGateway", lambda *of, **how: served.append(LocalGateway(*of, **how))
    )
    serving.serve(port=0, expose=expose)
    assert served[0].api.engine.pending == {"orders-by-status": None}
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("serving AdminViewTable at http://127.0.0.1:")
    where = "exposed to other machines" if expose else "on loopback only"
    assert printed[0].endswith(f", without authorization, {where}")
    assert "view files are read once: restart this command after you change one" in printed
    assert printed[-1] == "stopped"


def answer_of(
    monkeypatch: pytest.MonkeyPatch, path: str, model: str, pending: PendingPatterns | None = None
) -> dict[str, Any]:
    """Call the function, in an environment that was made for a model."""
    settings = Settings("AdminViewTable", "queue", {"Orders": "Orders"}, model)
    variables = settings.to_env() | (pending or PendingPatterns({})).to_env()
    for name, value in ({"AWS_DEFAULT_REGION": "us-east-1"} | variables).items():
        monkeypatch.setenv(name, value)
    function.api.cache_clear()
    context: Any = SimpleNamespace(aws_request_id="1")
    answer = function.handle(event("GET", path, {}), context)
    function.api.cache_clear()
    return answer


def test_the_function_reads_pending_patterns_from_its_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pending = PendingPatterns({"orders-by-status": None, "of-another-model": None})
    path = "/patterns/orders-by-status?status=PENDING"
    answer = answer_of(monkeypatch, path, registry().fingerprint, pending)
    assert answer["statusCode"] == 503
    assert "is not ready" in answer["body"]


def test_the_function_reads_from_its_bundle_which_access_patterns_are_not_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = registry().fingerprint
    manifest = Manifest(model, (), sources={"Orders": "O"}, pending={"orders-by-status": None})
    monkeypatch.setattr("adminview.aws.settings.own_manifest", lambda: manifest)
    answer = answer_of(monkeypatch, "/patterns/orders-by-status?status=PENDING", model)
    assert answer["statusCode"] == 503


def test_the_function_answers_a_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    model = registry().fingerprint
    answer = answer_of(monkeypatch, "/patterns", model)
    assert answer["statusCode"] == 200
    assert f'"model":"{model}"' in answer["body"]
    assert answer["headers"]["Content-Type"] == "application/json"


def test_rows_carry_the_fingerprint_of_the_views_that_derive_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not that of an environment which came, or stayed, without its code."""
    settings = Settings("AdminViewTable", "queue", {"Orders": "Orders"}, "of-another")
    for name, value in settings.to_env().items():
        monkeypatch.setenv(name, value)
    assert read_settings().model == registry().fingerprint
