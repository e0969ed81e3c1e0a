"""Concurrent calls: each gets its own response, and none outlives the batch."""

import json
import socket
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ReadTimeoutError

from adminview.aws.batch_writers import HttpBatchWriter
from adminview.aws.deadline import Deadline
from adminview.aws.transport.connection import SHORTEST_TIMEOUT, HttpConnection, HttpResponse
from adminview.aws.transport.http_client import MAX_CONCURRENCY, HttpClient
from adminview.aws.view_table import ViewTable
from tests.support.dynamodb_writers import HASTY, make_http_client, tls
from tests.support.fakes import NO_WAIT, TABLE, a_put
from tests.support.faulty_server import (
    Faulty,
    Request,
    answer,
    healthy,
    refuse,
    refusing,
    reset,
    say,
    wait,
)

SOON = Deadline(1.0, lambda: 0.0)  # which never comes
OPERATION = "BatchWriteItem"


def numbered(count: int) -> Iterator[bytes]:
    return (b'{"n": %d}' % n for n in range(count))


def echo(request: Request) -> object:
    """Answer with the number that was sent, as the name of a table."""
    number = json.loads(request.body)["n"]
    return answer(200, json.dumps({"UnprocessedItems": {str(number): []}}))(request)


def number_of(response: Any) -> int:
    (number,) = response["UnprocessedItems"]
    return int(number)


def test_each_call_gets_its_own_answer() -> None:
    with Faulty([echo] * 100) as server:
        results = [*make_http_client(server.url).calls(OPERATION, numbered(100), SOON)]
    assert [*map(number_of, results)] == [*range(100)]


def test_as_many_calls_as_allowed_are_under_way_at_once_and_no_more() -> None:
    crowd, requested = threading.Barrier(MAX_CONCURRENCY, timeout=20), [0]

    def meet(request: Request) -> object:
        crowd.wait()
        return healthy(request)

    def bodies() -> Iterator[bytes]:
        for body in numbered(2 * MAX_CONCURRENCY):
            requested[0] += 1
            yield body

    with Faulty([meet for _ in range(2 * MAX_CONCURRENCY)]) as server:
        direct = make_http_client(server.url)
        results = direct.calls(OPERATION, bodies(), SOON)
        next(results)
        assert requested[0] <= MAX_CONCURRENCY + 1, "a body is made when there is a place for it"
        assert len([*results]) == 2 * MAX_CONCURRENCY - 1
        assert server.connections == len(direct._idle) == MAX_CONCURRENCY


def test_an_answer_that_has_come_is_read_before_another_connection_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def wait_for_news(connection: HttpConnection) -> bool:
        # While a call is under way its answer comes; nothing comes while none is.
        return bool(connection._poll.poll(200))

    monkeypatch.setattr(HttpConnection, "has_news", property(wait_for_news))
    with Faulty() as server:
        assert len([*make_http_client(server.url).calls(OPERATION, numbered(5), SOON)]) == 5
        assert server.connections == 1


def test_one_that_fails_fails_alone() -> None:
    with Faulty([healthy, refuse("ValidationException"), reset, healthy, say(b"what?")]) as server:
        direct = make_http_client(server.url)
        results: list[object] = []
        for body in numbered(5):  # one after the other, for the faults come in turn
            results += direct.calls(OPERATION, [body], SOON)
    kinds = [type(result).__name__ for result in results]
    assert kinds == [
        "dict",
        "ClientError",
        "ConnectionClosedError",
        "dict",
        "ConnectionClosedError",
    ]


def test_calls_that_are_silent_together_are_waited_for_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited: list[float] = []
    read = HttpConnection._read

    def note(connection: HttpConnection) -> bytes:
        try:
            return read(connection)
        except TimeoutError:
            waited.append(connection._socket.gettimeout() or 0)
            raise

    monkeypatch.setattr(HttpConnection, "_read", note)
    with Faulty([wait] * 8) as server:
        results = [*make_http_client(server.url, HASTY).calls(OPERATION, numbered(8), SOON)]
    assert [type(result) for result in results] == [ReadTimeoutError] * 8
    assert sum(waited) <= HASTY[1] + 8 * SHORTEST_TIMEOUT


def test_an_unreachable_server_gets_one_connection_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[object] = []
    connect = HttpConnection.to

    def note(*arguments: Any) -> HttpConnection:
        tried.append(arguments)
        return connect(*arguments)

    monkeypatch.setattr(HttpConnection, "to", note)
    results = [*make_http_client(refusing()).calls(OPERATION, numbered(50), SOON)]
    assert len(results) == 50
    assert all(isinstance(result, BotoCoreError) for result in results)
    assert len(tried) == 1


def test_what_is_not_begun_in_time_is_not_begun() -> None:
    now = [0.0]
    deadline = Deadline(3.0, lambda: now[0])

    def bodies() -> Iterator[bytes]:
        for body in numbered(5):
            now[0] += 1.0
            yield body

    with Faulty() as server:
        results = [*make_http_client(server.url).calls(OPERATION, bodies(), deadline)]
        assert len(server.requests) == 2
    assert [result is None for result in results] == [False, False, True, True, True]


@pytest.mark.parametrize("taken", [0, 1, 3])
def test_no_call_is_in_flight_when_the_caller_goes_away(taken: int) -> None:
    answered = threading.Semaphore(0)

    def slowly(request: Request) -> object:
        request.server.over.wait(0.05)
        going_on = echo(request)
        answered.release()
        return going_on

    with Faulty([slowly] * 6) as server:
        direct = make_http_client(server.url)
        results = direct.calls(OPERATION, numbered(5), SOON)
        assert [*map(number_of, islice(results, taken))] == [*range(taken)]
        began = len(server.requests)
        results.close()  # type: ignore[attr-defined]  # it is a generator
        assert all(answered.acquire(timeout=20) for _ in range(began))
        assert number_of(direct.call(OPERATION, b'{"n": 9}')) == 9, "not an older answer"


class Hasty(Faulty):
    """Will not read more than a megabyte: says so, and hangs up."""

    def _read(self, incoming: Any, connection: socket.socket) -> Request | None:
        ahead = incoming.peek(1)
        length = int(ahead.lower().partition(b"content-length: ")[2].split(b"\r\n", 1)[0] or 0)
        if length <= 2**20:
            return super()._read(incoming, connection)
        self.refused += 1
        connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        return None

    refused = 0


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_call_that_is_too_large_is_halved_and_its_neighbours_are_written(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over TLS, to write to who has hung up is another error; what it sent is there to be read."""
    monkeypatch.setattr("certifi.where", lambda: str(tmp_path / "certificate.pem"))
    large = [a_put(n, v={"S": "x" * 100_000}) for n in range(25)]
    small = [a_put(n) for n in range(25, 75)]
    wrap = tls(tmp_path) if scheme == "https" else lambda plain: plain
    with Hasty(wrap=wrap, scheme=scheme) as server:
        view = ViewTable(HttpBatchWriter(make_http_client(server.url)), TABLE, NO_WAIT)
        outcome = view.write(large + small, deadline=Deadline.after(60))
    assert outcome.written == 75
    assert server.refused >= 3


def test_a_send_that_fails_is_one_calls_trouble_and_not_that_of_the_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    send, fail = HttpConnection.send, iter([False, True])

    def fail_once(connection: HttpConnection, request: bytes, seconds: float) -> None:
        if next(fail, False):
            raise OSError
        send(connection, request, seconds)

    monkeypatch.setattr(HttpConnection, "send", fail_once)
    with Faulty() as server:
        results = [*make_http_client(server.url).calls(OPERATION, numbered(10), SOON)]
    assert [isinstance(result, BotoCoreError) for result in results] == [False, True] + [False] * 8


def test_responses_in_flight_are_read_though_memory_fails_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    receive, received = HttpConnection.receive, [0]

    def fail(connection: HttpConnection) -> HttpResponse:
        received[0] += 1
        if received[0] <= 3:
            raise MemoryError
        return receive(connection)

    monkeypatch.setattr(HttpConnection, "receive", fail)
    monkeypatch.setattr(HttpConnection, "has_news", False)  # so that all are under way at once
    with Faulty() as server:
        direct = make_http_client(server.url)
        with pytest.raises(MemoryError):
            [*direct.calls(OPERATION, numbered(6), SOON)]
        assert (received[0], len(direct._idle)) == (6, 3)


def test_when_a_body_cannot_be_made_what_was_begun_is_waited_for() -> None:
    def bodies() -> Iterator[bytes]:
        yield b'{"n": 0}'
        raise MemoryError

    with Faulty([echo]) as server:
        direct: HttpClient = make_http_client(server.url)
        with pytest.raises(MemoryError):
            [*direct.calls(OPERATION, bodies(), SOON)]
        assert len(direct._idle) == len(server.requests) == 1
        assert direct.call(OPERATION, b"{}")["UnprocessedItems"] == {}
