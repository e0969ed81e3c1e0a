"""The console's server: its page for everyone, its API only with the token and from here."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from aws_lambda_powertools import Logger

from adminview.cli.console.gateway import ConsoleGateway
from adminview.cli.console.sessions import IDLE_SECONDS, MOST_SESSIONS, Sessions, session_group
from adminview.cli.console.static_files import StaticFiles
from adminview.http_api.openapi import document
from adminview.http_api.operations.console_api import ConsoleApi
from adminview.http_api.operations.router import Operation, OperationGroup, Operations, Reply
from adminview.local.http_server import LOOPBACK
from tests.support.api_client import Client
from tests.support.console import DESCRIBED, HOST, PAGE, ConsoleClient
from tests.support.query_table import Lab, make_registry

EXPIRED = "urn:adminview:session-expired"
MISSING = "urn:adminview:token-missing"


def console(files: StaticFiles = PAGE, clock: list[float] | None = None) -> ConsoleClient:
    """Make a console with queries and one operation that echoes."""
    now = clock or [0.0]
    sessions = Sessions(clock=lambda: now[0])
    requested = Client(Lab(make_registry()).query_engine)
    echo = Operation(
        method="POST",
        path="/echo/{word}",
        id="echo",
        summary="Echo",
        handle=lambda request: Reply({"word": request.variables[0], "body": request.json()}),
        response="Session",
    )
    groups = [
        session_group(sessions, "ada", DESCRIBED, lambda: api.features),
        OperationGroup("echo", [echo]),
    ]
    logger = Logger(service="console")
    described = document(requested.query_engine.registry, "m")
    api = ConsoleApi(requested.gateway.query, Operations(groups, logger), described)
    gateway = ConsoleGateway(api, sessions, files)
    gateway.hosts = frozenset({HOST, "localhost:8090"})
    return ConsoleClient(gateway, sessions.launch_token)


def page(client: ConsoleClient, path: str, method: str = "GET", **headers: str) -> dict[str, Any]:
    return client.gateway.answer(method, path, {"Host": HOST, **headers})


ROUTES = [
    ("GET", "/patterns"),
    ("GET", "/openapi.json"),
    ("GET", "/session"),
    ("POST", "/session"),
    ("DELETE", "/session"),
    ("POST", "/echo/a"),
    ("GET", "/nope"),
    ("OPTIONS", "/echo/a"),
    ("GET", ""),
]


@pytest.mark.parametrize(("method", "route"), ROUTES)
def test_no_route_answers_without_the_token(method: str, route: str) -> None:
    client = console()
    refused = client.send(route, method, Authorization=None)
    assert (refused.status, refused.json["type"]) == (401, MISSING)
    for wrong in ("Bearer wrong", "Bearer ", f"Basic {client.token}"):
        assert client.send(route, method, Authorization=wrong).status == 401
    assert client.send(f"{route}?token={client.token}", method, Authorization=None).status == 401


@pytest.mark.parametrize(("method", "route"), ROUTES)
@pytest.mark.parametrize(
    "host", ["", "evil.example", "evil.example:8090", "127.0.0.1", "127.0.0.1:8091", f"{HOST}.evil"]
)
def test_no_route_answers_for_another_host(method: str, route: str, host: str) -> None:
    assert console().send(route, method, Host=host or None).status == 421


@pytest.mark.parametrize(("method", "route"), ROUTES)
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:3000"},
        {"Origin": f"https://{HOST}"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_no_route_answers_a_page_of_another_origin(
    method: str, route: str, headers: dict[str, str]
) -> None:
    refused = console().send(route, method, **headers)
    assert (refused.status, refused.json["type"]) == (403, "urn:adminview:foreign-origin")
    assert "Access-Control-Allow-Origin" not in refused.headers


def test_the_own_page_and_scripts_are_answered() -> None:
    client = console()
    for headers in ({}, {"Origin": f"http://{HOST}", "Sec_Fetch_Site": "same-origin"}):
        assert client.send("/patterns", **headers).status == 200
    assert client.send("/patterns", Host="localhost:8090").status == 200
    answered = client.send("/echo/a%2Fb%23?", "POST", {"x": 1})
    assert answered.status == 404  # a slash is not part of a variable
    assert client.send("/echo/b%23", "POST", {"x": 1}).json == {"word": "b#", "body": {"x": 1}}


def test_a_session_is_opened_with_the_printed_token_and_ends_when_it_is_idle() -> None:
    now = [0.0]
    client = console(clock=now)
    opened = client.send("/session", "POST").json
    assert opened["token"] != client.token
    assert opened["features"] == ["queries", "session", "echo"]
    assert opened["user"] == "ada"
    session = ConsoleClient(client.gateway, opened["token"])
    for _ in range(3):  # each call prolongs it
        now[0] += IDLE_SECONDS - 1
        assert session.send("/patterns").status == 200
    assert session.send("/session", "POST").status == 401  # only the printed token opens one
    now[0] += IDLE_SECONDS
    refused = session.send("/patterns")
    assert (refused.status, refused.json["type"]) == (401, EXPIRED)
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert client.send("/patterns").status == 200  # the printed token stays valid


def test_a_session_can_be_ended() -> None:
    client = console()
    session = ConsoleClient(client.gateway, client.send("/session", "POST").json["token"])
    assert session.send("/session").json["target"] == DESCRIBED
    ended = session.send("/session", "DELETE")
    assert (ended.status, ended.text) == (204, "")
    assert session.send("/session").json["type"] == EXPIRED


def test_only_so_many_sessions_are_kept() -> None:
    client = console()
    tokens = [client.send("/session", "POST").json["token"] for _ in range(MOST_SESSIONS + 1)]
    states = [ConsoleClient(client.gateway, token).send("/session").status for token in tokens]
    assert states.count(401) == 1


def test_tokens_are_long_and_never_repeated_in_text() -> None:
    sessions = Sessions()
    assert len(sessions.launch_token) >= 43
    assert sessions.launch_token not in repr(sessions)


@pytest.mark.parametrize("path", ["/", "/index.html", "/patterns/x?y=1", "/rows/a/b", "/%00"])
def test_every_other_path_is_the_page(path: str) -> None:
    answer = page(console(), path)
    assert (answer["statusCode"], answer["body"]) == (200, PAGE.index)
    assert answer["headers"]["Cache-Control"] == "no-store"


def test_the_page_runs_no_inline_code_and_loads_nothing_from_other_hosts() -> None:
    for path in ("/", "/console.json", "/assets/app.1a2b.js"):
        headers = page(console(), path)["headers"]
        policy = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert policy["frame-ancestors"] == "'none'"
        for name in ("script-src", "style-src", "img-src", "connect-src", "font-src"):
            assert policy[name] == "'self'"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"


def test_assets_are_cached_for_ever_and_others_are_not_found() -> None:
    client = console()
    answer = page(client, "/assets/app.1a2b.js?x")
    assert answer["headers"]["Cache-Control"] == "public, max-age=31536000, immutable"
    assert answer["body"] == b"1"
    for path in ("/assets/", "/assets/../index.html", "/assets/%2e%2e/x", "/assets/app.js"):
        assert page(client, path)["statusCode"] == 404
    assert page(client, "/assets/app.1a2b.js", Host="evil.example")["statusCode"] == 421


def test_the_page_gets_the_address_of_the_api() -> None:
    answer = page(console(), "/console.json")
    assert json.loads(answer["body"]) == {"api": "/api", "auth": "token", "session": "/api/session"}


def test_pages_are_only_read() -> None:
    refused = page(console(), "/", "POST")
    assert (refused["statusCode"], refused["headers"]["Allow"]) == (405, "GET, HEAD")


def test_a_console_without_its_page_has_its_api() -> None:
    client = console(StaticFiles())
    assert page(client, "/")["statusCode"] == 503
    assert client.send("/patterns").status == 200


def test_files_are_read_from_one_folder_and_only_of_known_types(tmp_path: Path) -> None:
    assets = tmp_path / "assets"
    assets.mkdir()
    (tmp_path / "index.html").write_text("page")
    (tmp_path / "secret.js").write_text("no")
    (assets / "a.1.js").write_text("yes")
    (assets / "a.py").write_text("no")
    files = StaticFiles.load(tmp_path)
    assert files.index == b"page"
    assert [*files.assets] == ["/assets/a.1.js"]
    assert StaticFiles.load(tmp_path / "none") == StaticFiles()


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"[]", 400), (b"{", 400), (b"\xff", 400), (b"[" * 100_000, 400), (b"", 400), (b"{}", 200)],
)
def test_a_body_is_a_json_object(body: bytes, status: int) -> None:
    assert console().send("/echo/a", "POST", body).status == status


def test_a_body_that_a_form_could_send_is_refused() -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None):
        assert console().send("/echo/a", "POST", b"{}", Content_Type=kind).status == 415


def test_other_methods_are_refused_with_the_allowed_ones() -> None:
    refused = console().send("/echo/a")
    assert (refused.status, refused.headers["Allow"]) == (405, "POST")
    assert console().send("/session", "PUT").headers["Allow"] == "DELETE, GET, POST"


def test_an_error_of_an_operation_says_nothing_of_its_cause() -> None:
    client = console()
    refused = client.send("/echo/a", "POST", b'{"a": NaN}')
    assert refused.status == 500
    assert "NaN" not in refused.text


def test_the_document_has_the_queries_and_the_operations() -> None:
    described = console().send("/openapi.json").json
    assert {"/patterns", "/session", "/echo/{word}"} <= described["paths"].keys()
    assert described["servers"] == [{"url": "/api"}]
    assert described["security"] == [{"token": []}]


@pytest.fixture
def served() -> Iterator[tuple[ConsoleClient, int]]:
    """Serve a console on a free port."""
    client = console()
    with client.gateway.listen(0).running() as server:
        assert server.server_address[0] == "127.0.0.1", "no other machine reaches it"
        yield client, int(server.server_address[1])


def test_the_server_reads_bodies_up_to_a_limit(served: tuple[ConsoleClient, int]) -> None:
    client, port = served
    headers = {"Authorization": f"Bearer {client.token}", "Content-Type": "application/json"}
    for body, status in ((b'{"a": "\xc3\xa4"}', 200), (b" " * 300_000, 413)):
        connection = HTTPConnection(LOOPBACK, port, timeout=10)
        connection.request("POST", "/api/echo/a", body, headers)
        answer = connection.getresponse()
        assert answer.status == status, answer.read()
        connection.close()
    connection = HTTPConnection(LOOPBACK, port, timeout=10)
    # Only the head: the server answers before it reads chunks.
    connection.putrequest("POST", "/api/echo/a")
    for name, value in {**headers, "Transfer-Encoding": "chunked"}.items():
        connection.putheader(name, value)
    connection.endheaders()
    assert connection.getresponse().status == 411
    connection.close()


def test_the_server_knows_its_own_port(served: tuple[ConsoleClient, int]) -> None:
    client, port = served
    assert client.gateway.hosts == {f"127.0.0.1:{port}", f"localhost:{port}"}
