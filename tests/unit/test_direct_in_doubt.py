"""A call that may have got the response of another call is detected later and reported."""

import json
import random
import select
import socket
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from threading import Event, Lock, Thread
from time import sleep
from typing import Any

import pytest

from adminview.aws.batch_writers import HttpBatchWriter
from adminview.aws.call_owners import CALL_OWNERS, calls_about
from adminview.aws.deadline import Deadline
from adminview.aws.metered_client import Metered
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.transport import http_client
from adminview.aws.transport.dynamodb_client import DynamoDbHttpClient
from adminview.aws.transport.http_client import HttpClient
from adminview.aws.view_table import ViewTable
from adminview.handlers.sync import StreamEvent, sync
from adminview.model.dead_letter import IN_DOUBT
from adminview.model.delivery import IN_DOUBT_SECONDS
from adminview.runtime import Runtime
from tests.support.dynamodb_writers import make_http_client
from tests.support.fakes import (
    NO_WAIT,
    TABLE,
    Context,
    FakeQueue,
    RecordingObserver,
    a_put,
    key_of,
    make_runtime,
)
from tests.support.fakes import refusal as refused
from tests.support.faulty_server import Fault, Faulty, Request, answer, healthy
from tests.support.model import registry
from tests.support.stream_records import record

ROWS = 720
OPERATION = "BatchWriteItem"
ALL_WRITTEN = '{"UnprocessedItems":{}}'
DONE: dict[str, Any] = {"batchItemFailures": []}
users = registry().source("Users")
ids = count()


def inserts(numbers: range) -> StreamEvent:
    rows = [record(users, None, {"userId": f"u{n}", "name": "x"}, n + 1) for n in numbers]
    return {"Records": rows}


def runtime_to(
    direct: HttpClient, queue: FakeQueue, heard: RecordingObserver | None = None
) -> Runtime:
    view = ViewTable(HttpBatchWriter(direct), TABLE, NO_WAIT)
    return replace(make_runtime(registry(), None, queue, heard), view=view)


def named(queue: FakeQueue) -> set[str]:
    """Collect the owners that in-doubt dead letters name."""
    letters = [json.loads(body) for body in queue.bodies]
    assert all(letter["kind"] == IN_DOUBT for letter in letters)
    assert queue.delays == [IN_DOUBT_SECONDS] * len(letters)
    return {item["owner"] for letter in letters for item in letter["items"]}


def say_all_written(connection: socket.socket) -> None:
    """Send a response with a request id of its own, which nobody asked for."""
    text = f"HTTP/1.1 200 OK\r\nx-amzn-RequestId: unasked-{next(ids)}\r\n"
    text += f"Content-Length: {len(ALL_WRITTEN)}\r\n\r\n{ALL_WRITTEN}"
    connection.sendall(text.encode())


class Doubling:
    """Refuses some rows at first; some time after each response it says that all is written."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.rows: set[str] = set()
        self.refused: set[str] = set()
        self._locks: dict[socket.socket, Any] = {}
        self._random = random.Random(4)  # noqa: S311 - for a test
        self._late: list[Thread] = []

    def __call__(self, request: Request) -> object:
        sleep(self._random.uniform(0, 0.002))
        left = []
        for write in request.writes:
            key = key_of(write)[0]
            if self._random.random() < 0.5 and key not in self.refused:
                self.refused.add(key)
                left.append(write)
            else:
                self.rows.add(key)
        content = json.dumps({"UnprocessedItems": {TABLE: left} if left else {}})
        lock, answered = self._locks.setdefault(request.connection, Lock()), Event()
        late = Thread(target=self._say_late, args=(request.connection, lock, answered))
        late.start()
        self._late.append(late)  # before the response: whoever has it may wait for the rest
        try:
            with lock:
                answer(200, content)(request)
        finally:
            answered.set()
        return True

    def _say_late(self, connection: socket.socket, lock: Any, answered: Event) -> None:
        answered.wait(20)
        sleep(self.seconds)
        try:
            with lock:
                say_all_written(connection)
        except OSError:
            return  # it was closed

    def end(self) -> None:
        """Wait for all that is late."""
        for thread in self._late:
            thread.join(20)


@pytest.mark.parametrize("milliseconds", [0, 2, 20])
def test_no_row_is_lost_silently_when_a_server_adds_responses_with_ids_of_their_own(
    milliseconds: int,
) -> None:
    queue, fault = FakeQueue(), Doubling(milliseconds / 1000)
    with Faulty([fault] * 5000) as server:
        runtime = runtime_to(make_http_client(server.url), queue)
        assert sync(inserts(range(ROWS)), Context(), runtime) == DONE
        fault.end()
        sleep(0.02)  # loopback
        server.faults = []
        assert sync(inserts(range(ROWS, ROWS + 1)), Context(), runtime) == DONE
    lost = {f"u{n}" for n in range(ROWS)} - {key.removeprefix("USER#") for key in fault.rows}
    assert {f"Users/{name}" for name in lost} <= named(queue)


def unasked_then(go: Event, then: Fault) -> Fault:
    """Send a response that is not the request's; the request's own when switched to it."""

    def act(request: Request) -> object:
        say_all_written(request.connection)
        assert go.wait(20)
        return then(request)

    return act


def refuse_all(request: Request) -> object:
    left = json.dumps({"UnprocessedItems": {TABLE: request.writes}})
    return answer(200, left)(request)


def arrived(direct: HttpClient) -> bool:
    """Wait until bytes have arrived on a kept connection."""
    sockets = [connection._socket for connection in (*direct._idle, *direct._waiting)]
    return bool(select.select(sockets, [], [], 20)[0])


@pytest.mark.parametrize("nothing_to_write", [False, True])
def test_a_call_that_is_found_in_doubt_by_the_next_invocation_is_reported_then(
    *, nothing_to_write: bool
) -> None:
    queue, heard, go = FakeQueue(), RecordingObserver(), Event()
    with Faulty([unasked_then(go, refuse_all)]) as server:
        direct = make_http_client(server.url)
        runtime = runtime_to(direct, queue, heard)
        assert sync(inserts(range(3)), Context(), runtime) == DONE
        assert queue.bodies == []
        go.set()
        assert arrived(direct)
        later: StreamEvent = {"Records": []} if nothing_to_write else inserts(range(7, 8))
        assert sync(later, Context(), runtime) == DONE
        assert named(queue) == {"Users/u0", "Users/u1", "Users/u2"}
        (letter,) = (json.loads(body) for body in queue.bodies)
        assert (letter["source"], letter["items"][0]["rows"]) == ("Users", [])
        assert sorted(item["key"]["userId"]["S"] for item in letter["items"]) == ["u0", "u1", "u2"]
        assert [tally.in_doubt for tally in heard.batches] == [0, 1]
        assert sync(later, Context(), runtime) == DONE
        assert len(queue.bodies) == 1, "once"


def test_a_dead_letter_about_an_earlier_call_is_kept_until_the_queue_takes_it() -> None:
    queue, go = FakeQueue([refused("AccessDenied", "SendMessageBatch")]), Event()
    with Faulty([unasked_then(go, refuse_all)]) as server:
        direct = make_http_client(server.url)
        runtime = runtime_to(direct, queue)
        sync(inserts(range(3)), Context(), runtime)
        go.set()
        assert arrived(direct)
        failed = sync(inserts(range(7, 8)), Context(), runtime)
        assert failed["batchItemFailures"] == [{"itemIdentifier": f"{8:021d}"}]
        assert sync(inserts(range(7, 8)), Context(), runtime) == DONE
        assert named(queue) == {"Users/u0", "Users/u1", "Users/u2"}


def test_a_call_that_is_found_in_doubt_in_its_own_write_is_reported_with_its_rows() -> None:
    queue, go = FakeQueue(), Event()

    def slowly(request: Request) -> object:
        go.set()
        assert arrived(direct)
        return healthy(request)

    with Faulty([unasked_then(go, refuse_all), slowly]) as server:
        direct = make_http_client(server.url)
        direct.calls = one_by_one(direct)  # type: ignore[method-assign]
        assert sync(inserts(range(26)), Context(), runtime_to(direct, queue)) == DONE
        assert server.connections == 2
    assert named(queue) == {f"Users/u{n}" for n in range(25)}
    (letter,) = (json.loads(body) for body in queue.bodies)
    assert letter["items"][0]["rows"] == [["USER#u0", "PROFILE"]]


def one_by_one(direct: HttpClient) -> Callable[..., Any]:
    """Make each call when the one before it is answered, on a connection of its own."""

    def calls(operation: str, bodies: Any, _: Deadline, owners: Any) -> Any:
        for body, whose in zip(bodies, owners, strict=True):
            connection = direct._connect()
            direct._send(connection, direct._request(operation, body), whose)
            yield direct._receive(connection, operation)

    return calls


def doubted(direct: HttpClient, *names: str) -> None:
    """Make a call about each owner."""
    for name in names:
        with calls_about((name,)):
            direct.call(OPERATION, b"{}")


def then_more(go: Event) -> Fault:
    def act(request: Request) -> object:
        healthy(request)
        assert go.wait(20)
        say_all_written(request.connection)
        return True

    return act


def test_all_calls_on_a_connection_are_in_doubt_when_bytes_arrive_on_it() -> None:
    go = Event()
    with Faulty([healthy, healthy, then_more(go)]) as server:
        direct = make_http_client(server.url)
        doubted(direct, "a", "b", "c")
        go.set()
        assert arrived(direct)
        assert direct.find_in_doubt() == [("a",), ("b",), ("c",)]
        assert direct.find_in_doubt() == []
        assert not direct._idle
        assert CALL_OWNERS.get() == ()


@pytest.mark.parametrize("text", ["<html>", "{}"])
def test_calls_before_a_response_that_is_not_dynamodbs_are_in_doubt(text: str) -> None:
    with Faulty([healthy, answer(200, text)]) as server:
        direct = make_http_client(server.url)
        doubted(direct, "a")
        with pytest.raises(Exception, match=r"response|answer"):
            doubted(direct, "b")
        assert direct.find_in_doubt() == [("a",)], "the other has failed, and is known"


def test_a_connection_that_was_closed_leaves_no_doubt() -> None:
    def close(request: Request) -> None:
        healthy(request)
        assert go.wait(20)

    go = Event()
    with Faulty([close]) as server:
        direct = make_http_client(server.url)
        doubted(direct, "a")
        go.set()
        assert arrived(direct)
        assert direct.find_in_doubt() == []
        assert not direct._idle


def test_a_call_is_forgotten_when_its_connection_has_been_quiet_as_long_as_a_response_takes() -> (
    None
):
    go = Event()
    with Faulty([healthy, then_more(go)]) as server:
        direct = make_http_client(server.url, (20.0, 0.2))
        doubted(direct, "a")
        sleep(0.25)
        doubted(direct, "b")
        assert server.connections == 1
        go.set()
        assert arrived(direct)
        assert direct.find_in_doubt() == [("b",)]


def test_what_is_remembered_is_bounded_and_connections_are_used_again_after_a_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_client, "MOST_UNPROVEN", 3)
    with Faulty() as server:
        direct = make_http_client(server.url, (20.0, 0.3))
        doubted(direct, *"abcdefgh")
        assert server.connections == 3
        assert [len(connection.unproven) for connection in (*direct._waiting, *direct._idle)] == [
            3,
            3,
            2,
        ]
        sleep(0.35)
        doubted(direct, *"ijklm")
        assert server.connections == 3
        assert (
            sum(len(connection.unproven) for connection in (*direct._waiting, *direct._idle)) == 5
        )


def test_after_unsolicited_bytes_the_other_connections_are_read_but_not_used() -> None:
    first, second = Event(), Event()
    with Faulty([then_more(first), then_more(second)]) as server:
        direct = make_http_client(server.url)
        both = [direct._connect(), direct._connect()]
        for connection, name in zip(both, "ab", strict=True):
            direct._send(connection, direct._request(OPERATION, b"{}"), (name,))
            direct._receive(connection, OPERATION)
        first.set()
        assert select.select([both[0]._socket], [], [], 20)[0]
        doubted(direct, "c")
        assert server.connections == 3
        second.set()
        assert select.select([both[1]._socket], [], [], 20)[0]
        assert direct.find_in_doubt() == [("a",), ("b",)]


def test_after_unsolicited_bytes_what_is_late_on_other_connections_is_waited_for() -> None:
    first, second = Event(), Event()
    with Faulty([then_more(first), then_more(second)]) as server:
        direct = make_http_client(server.url)
        both = [direct._connect(), direct._connect()]
        for connection, name in zip(both, "ab", strict=True):
            direct._send(connection, direct._request(OPERATION, b"{}"), (name,))
            direct._receive(connection, OPERATION)
        first.set()
        assert select.select([both[0]._socket], [], [], 20)[0]
        listen = direct._listen

        def listen_and_go_on() -> None:
            listen()
            second.set()

        direct._listen = listen_and_go_on  # type: ignore[method-assign]
        assert direct.find_in_doubt() == [("a",), ("b",)]


def test_calls_in_doubt_are_found_through_every_client_and_can_be_kept() -> None:
    go = Event()
    with Faulty([then_more(go)]) as server:
        direct = make_http_client(server.url)
        client: Any = DynamoDbHttpClient(direct, lambda: pytest.fail("boto3 is not needed"))
        metered = Metered(client, RateLimiter(), RateLimiter())
        doubted(direct, "a")
        go.set()
        assert arrived(direct)
        calls = metered.find_in_doubt()
        metered.keep_in_doubt(calls)
        assert client.find_in_doubt() == calls == [("a",)]


def test_unprocessed_rows_of_another_call_put_a_call_in_doubt() -> None:
    other = {"PutRequest": {"Item": {"PK": {"S": "P"}, "SK": {"S": "another"}}}}
    for unprocessed in ({TABLE: [other]}, {"AnotherTable": [other]}):
        with Faulty([answer(200, json.dumps({"UnprocessedItems": unprocessed}))]) as server:
            view = ViewTable(HttpBatchWriter(make_http_client(server.url)), TABLE, NO_WAIT)
            outcome = view.write([a_put(0)], deadline=Deadline.after(60))
        assert (outcome.written, outcome.in_doubt) == (1, {("P", "0"): "o"})
        assert len(server.requests) == 2
