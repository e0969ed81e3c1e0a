"""The direct client fails as a boto3 client does, and parses no less."""

import json
import socket
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from adminview.aws.batch_writers import HttpBatchWriter, Writer
from adminview.aws.deadline import Deadline
from adminview.aws.retry import error_code, is_transient
from adminview.aws.transport.connection import GRACE, HttpConnection
from adminview.aws.view_table import ViewTable, WriteOutcome
from tests.support.dynamodb_writers import (
    HASTY,
    PATIENT,
    both,
    error_of,
    make_http_client,
    over_tls,
    writes,
)
from tests.support.fakes import NO_WAIT, TABLE
from tests.support.faulty_server import (
    HALF,
    TYPE,
    Fault,
    Faulty,
    Request,
    answer,
    close_when_idle,
    deaf,
    hang_up,
    healthy,
    leave_first,
    refuse,
    refusing,
    reset,
    say,
    wait,
)


def outcome_of(writer: Writer) -> WriteOutcome:
    return ViewTable(writer, TABLE, NO_WAIT).write(writes(), deadline=Deadline.after(60))


def only_one(request: Request) -> object:
    """Take a single write, and find more of them too large."""
    fault = healthy if len(request.writes) == 1 else answer(413, "too large, Ms Secret")
    return fault(request)


def not_the_third(request: Request) -> object:
    bad = any("2" in json.dumps(write) for write in request.writes)
    return (refuse("ValidationException") if bad else healthy)(request)


PASSING = {
    "throttled": refuse("ProvisionedThroughputExceededException"),
    "throttled by its control plane": refuse("ThrottlingException"),
    "its own fault": refuse("InternalServerError", 500),
    "its own fault, of an unknown name": refuse("NewException", 503),
    "its own fault, without a word": answer(500, "", x_amz_crc32=""),
    "a proxy's page": answer(503, "<html>Ms Secret</html>", x_amz_crc32=""),
    "a gateway that knows no JSON": answer(502, "Ms Secret", x_amz_crc32=""),
    "hung up": hang_up,
    "reset": reset,
    "reset within the head": say(b"HTTP/1.1 200 OK\r\nContent-Le", reset),
    "no HTTP": say(b"SSH-2.0-OpenSSH\r\n\r\n"),
    "unprocessed": leave_first,
    "closed when idle": close_when_idle,
    "not kept": answer(200, "{}", connection="close"),
}
LASTING = {
    "expired": refuse("ExpiredTokenException"),
    "unknown to it": refuse("UnrecognizedClientException"),
    "signed wrongly": refuse("InvalidSignatureException"),
    "signed by a wrong clock": refuse("RequestTimeTooSkewed", 403),
    "no right to": refuse("AccessDeniedException"),
    "no table": refuse("ResourceNotFoundException"),
    "a code with its link": answer(
        400, json.dumps({"__type": f"{TYPE}AccessDeniedException:http://x", "Message": "no"})
    ),
    "no code": answer(400, '{"message": "Ms Secret"}'),
    "no JSON": answer(403, "Ms Secret"),
    "elsewhere": answer(302, "", location="http://127.0.0.1:1/"),
}
SLOW = {"silent": wait, "silent within the answer": say(HALF, wait)}


def summary(outcome: WriteOutcome) -> Any:
    return (
        outcome.written,
        sorted(write.key for write in outcome.unwritten),
        sorted((write.key, code) for write, code in outcome.refused),
        [*outcome.errors],
    )


def outcomes(
    fault: Fault, timeouts: tuple[float, float] = PATIENT, requests: int | None = None
) -> list[Any]:
    """Meet a fault once with each writer, and count the requests where they are known."""
    summaries = []
    for index in range(2):
        with Faulty([fault]) as server:
            summaries.append(summary(outcome_of(both(server.url, timeouts)[index])))
            assert requests in (None, len(server.requests)), "a redirect followed, or a retry"
    return summaries


@pytest.mark.parametrize("fault", PASSING)
def test_what_passes_for_boto3_passes_straight(fault: str) -> None:
    plain, direct = outcomes(PASSING[fault])
    assert plain == direct
    assert direct[0] == 4, "all written in the end"


@pytest.mark.parametrize("fault", LASTING)
def test_what_lasts_for_boto3_lasts_straight(fault: str) -> None:
    plain, direct = outcomes(LASTING[fault], requests=1)
    assert plain == direct
    assert len(direct[1]) == 4, "nothing written"


@pytest.mark.parametrize("fault", [only_one, not_the_third])
def test_a_refused_call_is_divided_alike(fault: Any) -> None:
    with Faulty([fault] * 100) as server:
        plain, direct = (summary(outcome_of(writer)) for writer in both(server.url))
    assert plain == direct
    assert direct[0] == (4 if fault is only_one else 3)


@pytest.mark.parametrize("fault", SLOW)
def test_a_request_without_a_response_in_time_is_sent_again(fault: str) -> None:
    plain, direct = outcomes(SLOW[fault], HASTY)
    assert plain == direct
    assert (direct[0], direct[3]) == (4, ["ReadTimeoutError"])


@pytest.mark.parametrize("nobody", ["deaf", "refusing", "unknown", "not trusted"])
def test_who_cannot_be_reached_is_so_alike(nobody: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        places: dict[str, Callable[[], str]] = {
            "deaf": lambda: stack.enter_context(deaf()),
            "refusing": refusing,
            "unknown": lambda: "http://nobody.invalid",
            "not trusted": lambda: stack.enter_context(over_tls(tmp_path)).url,
        }
        url = places[nobody]()
        timeouts = HASTY if nobody == "deaf" else PATIENT
        plain, direct = (error_of(writer) for writer in both(url, timeouts))
    assert error_code(plain) == error_code(direct)
    assert is_transient(plain) == is_transient(direct) is True


def test_a_request_to_a_server_without_tls_is_sent_again() -> None:
    with Faulty(scheme="https") as server:
        assert all(is_transient(error_of(writer)) for writer in both(server.url, HASTY))


class Trickling(socket.socket):
    """Always has one more byte, before any timeout."""

    read = 0

    def sendall(self, *_: Any) -> None:
        """Take a request."""

    def recv(self, *_: Any) -> bytes:
        """Give a head, and then a byte at a time."""
        self.read += 1
        return b" " if self.read > 1 else b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n"


def test_an_answer_that_trickles_has_an_end_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count()
    monkeypatch.setattr("adminview.aws.transport.connection.monotonic", lambda: next(clock) / 1000)
    monkeypatch.setattr(HttpConnection, "has_news", False)  # the socket is not connected
    with Trickling() as incoming:
        connection = HttpConnection(incoming)
        connection.send(b"request", seconds=4)
        with pytest.raises(TimeoutError):
            connection.receive()
        assert incoming.read <= 1000 * (4 + GRACE) + 1


@pytest.mark.parametrize(
    "head",
    [
        "413 Too Large\r\nConnection: close",
        "413 Too Large\r\nTransfer-Encoding: chunked",
        f"413 Too Large\r\nContent-Length: {'9' * 5000}",
        "413 Too Large\r\nContent-Length: -1",
    ],
)
def test_a_refusal_without_a_content_length_is_read(head: str) -> None:
    with Faulty([say(f"HTTP/1.1 {head}\r\n\r\n".encode())]) as server:
        direct = make_http_client(server.url)
        with pytest.raises(ClientError) as caught:
            direct.call("BatchWriteItem", b"{}")
        assert not direct._idle
    assert error_code(caught.value) == "413"


UNSOUND = {
    "cut short": (say(HALF), "IncompleteReadError"),
    "reset within the answer": (say(HALF, reset), "ConnectionClosedError"),
    "another checksum": (answer(200, "{}", x_amz_crc32="1"), "ChecksumError"),
    "no checksum": (answer(200, "{}", x_amz_crc32="one"), "ChecksumError"),
    "an error garbled": (
        answer(400, '{"__type":"ValidationException"}', x_amz_crc32="1"),
        "ChecksumError",
    ),
    "not JSON": (answer(200, "<html>Ms Secret</html>", x_amz_crc32=""), "ResponseStreamingError"),
    "no object": (answer(200, "[]"), "ResponseStreamingError"),
    "not text": (answer(200, b"\xff\xfe{"), "ResponseStreamingError"),
    "empty": (answer(200, ""), "ResponseStreamingError"),
    "too deep": (answer(200, "[" * 9000 + "]" * 9000), "ResponseStreamingError"),
    "of no length": (say(b"HTTP/1.1 200 OK\r\n\r\n{}"), "ConnectionClosedError"),
    "of an endless length": (
        say(f"HTTP/1.1 200 OK\r\nContent-Length: {'9' * 5000}\r\n\r\n".encode()),
        "ConnectionClosedError",
    ),
    "in chunks": (
        say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
        "ConnectionClosedError",
    ),
    "a head without an end": (
        say(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 20_000),
        "ConnectionClosedError",
    ),
    "not an answer yet": (say(b"HTTP/1.1 100 Continue\r\n\r\n"), "ConnectionClosedError"),
}


@pytest.mark.parametrize("fault", UNSOUND)
def test_an_answer_that_is_not_sound_is_none(fault: str) -> None:
    """A boto3 client takes some of these for a call that went well."""
    cause, code = UNSOUND[fault]
    with Faulty([cause]) as server:
        outcome = outcome_of(HttpBatchWriter(make_http_client(server.url)))
    assert (outcome.written, {*outcome.errors}) == (4, {code})
    assert len(server.requests) == 2


QUOTING = [
    *(PASSING[name] for name in ("throttled", "a proxy's page", "a gateway that knows no JSON")),
    *(LASTING[name] for name in ("expired", "no code", "no JSON")),
    UNSOUND["not JSON"][0],
]


@pytest.mark.parametrize("fault", QUOTING)
def test_no_error_quotes_the_request_or_the_response(fault: Any) -> None:
    with Faulty([fault]) as server, pytest.raises((ClientError, BotoCoreError)) as caught:
        make_http_client(server.url).call("BatchWriteItem", b'{"x": "Ms Secret"}')
    error = caught.value
    assert "Secret" not in f"{error!r} {error} {vars(error)}"
