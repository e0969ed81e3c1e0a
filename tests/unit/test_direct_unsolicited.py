"""An unsolicited response is never taken for the response to another request."""

import json
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock
from time import sleep
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError

from adminview.aws.batch_writers import HttpBatchWriter
from adminview.aws.deadline import Deadline
from adminview.aws.retry import is_transient
from adminview.aws.transport.connection import HttpConnection, UnsolicitedResponseError
from adminview.aws.view_table import ViewTable
from tests.support.dynamodb_writers import make_http_client, tls
from tests.support.fakes import NO_WAIT, TABLE, a_put
from tests.support.faulty_server import Fault, Faulty, Request, answer, healthy

ROWS = 720
BODY = b'{"UnprocessedItems":{}}'


def response(request_id: str = "", status: int = 200) -> bytes:
    id_ = f"x-amzn-RequestId: {request_id}\r\n" if request_id else ""
    return f"HTTP/1.1 {status} OK\r\n{id_}Content-Length: {len(BODY)}\r\n\r\n".encode() + BODY


class Repeating:
    """Accepts the first request of a connection, responds twice, and processes no other."""

    def __init__(self, seconds: float, *, with_id: bool) -> None:
        self.seconds, self.with_id = seconds, with_id
        self.rows: list[Any] = []
        self._repeated: set[socket.socket] = set()
        self._lock = Lock()

    def __call__(self, request: Request) -> object:
        if request.connection in self._repeated:
            left = json.dumps({"UnprocessedItems": {TABLE: request.writes}})
            return answer(200, left)(request)
        with self._lock:
            self._repeated.add(request.connection)
            self.rows += request.writes
            text = response(f"id-{len(self._repeated)}" if self.with_id else "")
        request.connection.sendall(text)
        sleep(self.seconds)
        request.connection.sendall(text)
        return True


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("with_id", [True, False])
@pytest.mark.parametrize("milliseconds", [0, 2, 20])
def test_no_row_is_lost_when_a_server_responds_twice(
    milliseconds: int,
    with_id: bool,  # noqa: FBT001 - a parameter of the test
    scheme: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("certifi.where", lambda: str(tmp_path / "certificate.pem"))
    wrap = tls(tmp_path) if scheme == "https" else lambda plain: plain
    fault = Repeating(milliseconds / 1000, with_id=with_id)
    with Faulty([fault] * 2000, wrap=wrap, scheme=scheme) as server:
        view = ViewTable(HttpBatchWriter(make_http_client(server.url)), TABLE, NO_WAIT)
        outcome = view.write([a_put(n) for n in range(ROWS)], deadline=Deadline.after(60))
    assert outcome.written == ROWS
    assert len({json.dumps(row) for row in fault.rows}) == ROWS


def then(text: bytes, go: Event) -> Fault:
    """Respond as usual; send *text* as well when switched on."""

    def act(request: Request) -> object:
        healthy(request)
        go.wait(20)
        request.connection.sendall(text)
        return True

    return act


def test_a_kept_connection_with_unread_bytes_is_not_used_again() -> None:
    go = Event()
    with Faulty([then(response("another"), go)]) as server:
        direct = make_http_client(server.url)
        direct.call("BatchWriteItem", b"{}")
        (kept,) = direct._idle
        go.set()
        assert select.select([kept._socket], [], [], 20)[0]
        direct.call("BatchWriteItem", b"{}")
        assert server.connections == 2


def test_bytes_that_tls_has_decrypted_already_count_as_arrived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The socket itself is then not readable."""
    monkeypatch.setattr("certifi.where", lambda: str(tmp_path / "certificate.pem"))
    go = Event()
    with Faulty([then(b"xy", go)], wrap=tls(tmp_path), scheme="https") as server:
        direct = make_http_client(server.url)
        direct.call("BatchWriteItem", b"{}")
        (kept,) = direct._idle
        go.set()
        kept._socket.settimeout(20)
        assert kept._socket.recv(1) == b"x"
        assert not select.select([kept._socket], [], [], 0)[0]
        assert kept.has_news


class Interrupted(socket.socket):
    """Receives *early* as soon as the first part of a request is sent."""

    early = b""
    peer: socket.socket

    def sendall(self, data: Any, *_: Any) -> None:
        """Send, and let the peer send."""
        super().sendall(data)
        text, self.early = self.early, b""
        self.peer.sendall(text)


@contextmanager
def connected() -> Iterator[tuple[HttpConnection, Interrupted]]:
    ours, theirs = socket.socketpair()
    with theirs, Interrupted(fileno=ours.detach()) as server_socket:
        server_socket.peer = theirs
        yield HttpConnection(server_socket), server_socket


def exchange(connection: HttpConnection, peer: socket.socket, request_id: str) -> None:
    connection.send(b"request", 20)
    peer.sendall(response(request_id))
    connection.receive()


@pytest.mark.parametrize("status", [200, 400, 413])
def test_a_response_that_arrives_before_the_request_is_complete_is_not_its_own(status: int) -> None:
    with connected() as (connection, sock):
        exchange(connection, sock.peer, "first")
        sock.peer.recv(1000)
        sock.early = response("second", status)
        with pytest.raises(UnsolicitedResponseError):
            connection.send(b"request", 20)
        assert sock.peer.recv(1000) == b"reques", "the server cannot execute it"
        assert not connection.reusable


def test_a_first_request_is_refused_early_but_not_accepted_early() -> None:
    for status in (200, 413):
        with connected() as (connection, sock):
            sock.early = response("first", status)
            connection.send(b"request", 20)
            assert sock.peer.recv(1000) == b"reques"
            if status == 413:
                assert connection.receive().status == 413
            else:
                with pytest.raises(UnsolicitedResponseError):
                    connection.receive()
            assert not connection.reusable


@pytest.mark.parametrize("texts", [[response("second") + response("third")], [response("first")]])
def test_a_response_on_a_used_connection_is_rejected_if_it_may_be_anothers(
    texts: list[bytes],
) -> None:
    with connected() as (connection, sock):
        exchange(connection, sock.peer, "first")
        connection.send(b"request", 20)
        for text in texts:
            sock.peer.sendall(text)
        with pytest.raises(UnsolicitedResponseError):
            connection.receive()


def test_the_first_response_is_accepted_though_more_follows_and_the_connection_is_not_kept() -> (
    None
):
    with connected() as (connection, sock):
        connection.send(b"request", 20)
        sock.peer.sendall(response("first") + b"H")
        assert connection.receive().content == BODY
        assert not connection.reusable


def test_a_connection_without_request_ids_is_not_kept() -> None:
    with connected() as (connection, sock):
        exchange(connection, sock.peer, "")
        assert not connection.reusable


def test_an_unsolicited_response_is_retried_on_a_connection_of_its_own() -> None:
    same = answer(200, BODY, x_amzn_requestid="same")
    with Faulty([same, same, healthy]) as server:
        direct = make_http_client(server.url)
        direct.call("BatchWriteItem", b"{}")
        with pytest.raises(ConnectionClosedError) as caught:
            direct.call("BatchWriteItem", b"{}")
        assert is_transient(caught.value)
        assert not direct._idle
        direct.call("BatchWriteItem", b"{}")
        assert server.connections == 2
