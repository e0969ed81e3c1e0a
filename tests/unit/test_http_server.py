"""The local server: half a request holds a thread only for a limited time."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Thread
from time import monotonic, sleep
from typing import Any

import pytest

from adminview.local.http_server import LOOPBACK, REQUEST_SECONDS, Server

SECONDS = 0.3
HEAD = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"


class Echo:
    """Answers every request with its body."""

    body_limit = 100

    def answer(
        self,
        method: str,  # noqa: ARG002
        target: str,  # noqa: ARG002
        headers: Mapping[str, str],  # noqa: ARG002
        body: bytes = b"",
    ) -> dict[str, Any]:
        return {"statusCode": 200, "headers": {}, "body": body}


@contextmanager
def serving(seconds: float = SECONDS, most_connections: int = 2) -> Iterator[Server]:
    server = Server(LOOPBACK, 0, Echo(), request_seconds=seconds, most_connections=most_connections)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def connect(server: Server) -> socket.socket:
    return socket.create_connection((LOOPBACK, server.server_port), timeout=10)


def response_of(server: Server) -> str:
    """Send a request, and return the response, which may come before the request."""
    with connect(server) as client:
        with suppress(ConnectionError):
            client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        return client.recv(10_000).decode()


@pytest.mark.parametrize("sent", [b"", b"POST / HT", HEAD[:-2], HEAD + b"half"])
def test_a_connection_with_half_a_request_is_closed(sent: bytes) -> None:
    with serving() as server, connect(server) as client:
        begun = monotonic()
        client.sendall(sent)
        assert client.recv(100) == b""
        assert SECONDS * 0.9 <= monotonic() - begun < REQUEST_SECONDS


def test_single_bytes_do_not_prolong_the_time_for_a_request() -> None:
    with serving() as server, connect(server) as client:
        begun = monotonic()
        with suppress(ConnectionError):  # when the other side is gone
            for byte in HEAD[:-2] + b"A: " + b"a" * 300:
                client.sendall(bytes([byte]))
                sleep(SECONDS / 10)
        assert monotonic() - begun < 5


def test_more_connections_than_the_limit_are_refused_until_one_ends() -> None:
    with serving(seconds=60) as server, connect(server) as first, connect(server) as second:
        first.sendall(b"POST")
        second.sendall(b"POST")
        assert response_of(server).startswith("HTTP/1.1 503 ")
        first.close()
        patience = monotonic() + 10
        while not response_of(server).startswith("HTTP/1.1 200 "):
            assert monotonic() < patience


def test_a_refusal_is_a_problem_that_says_what_to_do() -> None:
    with serving(seconds=60, most_connections=1) as server, connect(server) as first:
        first.sendall(b"POST")
        refused = response_of(server)
        assert "Content-Type: application/problem+json" in refused
        assert "try again" in refused
