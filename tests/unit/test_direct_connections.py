"""Connections are kept, trusted and given up as boto3 does."""

import select
import socket
import ssl
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials
from botocore.exceptions import ClientError, ConnectTimeoutError
from hypothesis import given
from hypothesis import strategies as st

from adminview.aws.batch_writers import HttpBatchWriter
from adminview.aws.deadline import Deadline
from adminview.aws.retry import error_code
from adminview.aws.transport.connection import HttpConnection
from adminview.aws.transport.eligibility import StaticCredentials
from adminview.aws.transport.http_client import HttpClient
from adminview.aws.transport.sigv4 import CONTENT_TYPE, Service, signed_headers
from adminview.aws.view_table import ViewTable
from tests.support.dynamodb_writers import (
    HASTY,
    PATIENT,
    REGION,
    error_of,
    make_http_client,
    over_tls,
    writes,
)
from tests.support.fakes import NO_WAIT, TABLE
from tests.support.faulty_server import (
    HALF,
    Faulty,
    Request,
    close_when_idle,
    deaf,
    healthy,
    refusing,
    say,
    wait,
)


def test_tls_is_spoken_with_whom_botocore_trusts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with over_tls(tmp_path) as server:
        monkeypatch.setattr("certifi.where", lambda: str(tmp_path / "certificate.pem"))
        direct = make_http_client(server.url)
        assert [direct.call("BatchWriteItem", b"{}") for _ in range(3)]
        assert server.connections == 1
    tls = direct._tls
    assert tls
    assert (tls.check_hostname, tls.verify_mode) == (True, ssl.CERT_REQUIRED)


def test_without_certifi_the_certificates_are_botocores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "certifi", None)
    tls = make_http_client("https://dynamodb.eu-west-1.amazonaws.com")._tls
    assert tls
    assert tls.get_ca_certs()


def test_connections_are_kept_and_a_closed_one_is_not_used_again() -> None:
    with Faulty([healthy, close_when_idle, healthy]) as server:
        direct = make_http_client(server.url)
        direct.call("BatchWriteItem", b"{}")
        direct.call("BatchWriteItem", b"{}")
        assert server.connections == 1
        for connection in direct._idle:  # none if the close arrived with the response
            assert select.select([connection._socket], [], [], 20)[0], "the close has arrived"
        direct.call("BatchWriteItem", b"{}")
        assert (server.connections, len(direct._idle)) == (2, 1)


def test_a_connection_that_failed_is_not_used_again() -> None:
    with Faulty([say(HALF, wait), healthy]) as server:
        direct = make_http_client(server.url, HASTY)
        error_of(HttpBatchWriter(direct))
        assert len(direct._idle) == 0
        direct._timeouts = PATIENT
        direct.call("BatchWriteItem", b"{}")
        assert server.connections == 2


def test_when_one_kept_connection_is_silent_none_of_them_is_used_again() -> None:
    crowd = threading.Barrier(2, timeout=20)

    def meet(request: Request) -> object:
        crowd.wait()
        return healthy(request)

    with Faulty([meet, meet, wait, healthy]) as server:
        direct = make_http_client(server.url)
        view = ViewTable(HttpBatchWriter(direct), TABLE, NO_WAIT)
        assert view.write(writes(50), deadline=Deadline.after(60)).written == 50
        assert len(direct._idle) == 2
        direct._timeouts = HASTY
        error_of(HttpBatchWriter(direct))
        assert len(direct._idle) == 0
        direct._timeouts = PATIENT
        direct.call("BatchWriteItem", b"{}")
        assert server.connections == 3


def test_calls_at_once_have_connections_of_their_own() -> None:
    crowd = threading.Barrier(8, timeout=20)

    def meet(request: Request) -> object:
        crowd.wait()
        return healthy(request)

    with Faulty([meet] * 16) as server:
        direct = make_http_client(server.url)
        view = ViewTable(HttpBatchWriter(direct), TABLE, NO_WAIT)
        for _ in range(2):
            assert view.write(writes(200), deadline=Deadline.after(60)).written == 200
        assert server.connections == len(direct._idle) == 8


def test_a_response_that_arrives_before_the_request_is_read_is_returned() -> None:
    """A server that will not read 16 MB says so, and stops to listen."""
    with Faulty() as server:
        deaf_ears: Any = lambda _, connection: Request(connection, "", b"", server)  # noqa: E731 - one line
        server.__dict__["_read"] = deaf_ears
        server.faults = [say(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")]
        with pytest.raises(ClientError) as caught:
            make_http_client(server.url).call("BatchWriteItem", b"x" * 2**24)
    assert error_code(caught.value) == "413"


def test_every_request_is_signed_with_the_credentials_of_the_client() -> None:
    with Faulty() as server:
        direct = HttpClient(
            server.url, REGION, StaticCredentials("key-id", "secret", "session"), PATIENT
        )
        for _ in range(2):
            direct.call("BatchWriteItem", b"{}")
    for request in server.requests:
        assert "Credential=key-id/" in request.head
        assert "X-Amz-Security-Token: session" in request.head


names = st.text("abcXYZ09.-", min_size=1)


@given(
    who=st.builds(ReadOnlyCredentials, st.text(min_size=1), st.text(), st.none() | names),
    host=names,
    target=names,
    body=st.binary(min_size=1),
    at=st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - hypothesis wants them so
)
def test_a_request_is_signed_as_botocore_signs_it(
    who: Any, host: str, target: str, body: bytes, at: datetime
) -> None:
    headers = signed_headers(Service("dynamodb", REGION, host), target, body, who, at.timestamp())
    requested = {"Content-Type": CONTENT_TYPE, "Host": host, "X-Amz-Target": target}
    request = AWSRequest("POST", "http://x/", requested, body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.auth.get_current_datetime", lambda: at)
        SigV4Auth(who, "dynamodb", REGION).add_auth(request)
    assert headers == dict(request.headers.items())


def resolving(monkeypatch: pytest.MonkeyPatch, *urls: str) -> None:
    """Resolve every host to these addresses, in this order."""
    ports = [int(url.rpartition(":")[2]) for url in urls]
    addresses = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", port)) for port in ports]
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: addresses)


def test_the_connect_timeout_covers_all_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    with deaf() as url:
        resolving(monkeypatch, *[url] * 8)
        began = monotonic()
        with pytest.raises(ConnectTimeoutError):
            make_http_client("http://dynamodb.test", (0.4, 20)).call("BatchWriteItem", b"{}")
        assert 0.3 < monotonic() - began < 1.2


def test_an_address_that_answers_is_found_behind_those_that_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with deaf() as url, Faulty() as server:
        resolving(monkeypatch, url, url, refusing(), server.url)
        direct = make_http_client("http://dynamodb.test", (0.8, 20))
        assert direct.call("BatchWriteItem", b"{}")["UnprocessedItems"] == {}


def test_the_connect_timeout_covers_the_tls_handshake(monkeypatch: pytest.MonkeyPatch) -> None:
    with deaf() as url, socket.create_server(("127.0.0.1", 0)) as silent:
        resolving(monkeypatch, url, f"https://127.0.0.1:{silent.getsockname()[1]}")
        began = monotonic()
        with pytest.raises(ConnectTimeoutError):
            make_http_client("https://dynamodb.test", (1, 20)).call("BatchWriteItem", b"{}")
        assert 0.9 < monotonic() - began < 1.4, "half of it to connect, the rest to shake hands"


def test_no_time_is_left_to_connect_when_the_resolver_took_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Faulty() as server:
        resolving(monkeypatch, server.url)
        with pytest.raises(TimeoutError):
            HttpConnection.to(("dynamodb.test", 80), 0, None)
        assert server.connections == 0
