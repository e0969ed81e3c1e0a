"""The direct HTTP client: calls to DynamoDB with bodies that are JSON already.

A boto3 client takes ten times as long to validate, serialize and parse a call. This client does the
rest of its work; a test covers each fault with a socket that has it:

- requests are signed with static credentials: Lambda sets them when it starts an execution
  environment and replaces the environment before they expire (`eligibility` has the other cases);
- connections are reused, except those that were closed or received unsolicited bytes;
- calls that may have got the response of another call are reported (`find_in_doubt`);
- a response that is truncated, not JSON or has a wrong checksum counts as none;
- every fault raises the error that a boto3 client raises for it, without data.

Several calls can be in flight without a thread: each has its own connection, and responses are read
in the order of the calls. There is no retry: the caller knows the deadline.
"""

import ssl
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeAlias
from urllib.parse import urlsplit
from weakref import finalize

import botocore
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    IncompleteReadError,
    ReadTimeoutError,
    SSLError,
)

from adminview.aws.call_owners import CALL_OWNERS, Owners
from adminview.aws.deadline import Deadline
from adminview.aws.transport.connection import (
    MOST_UNPROVEN,
    BrokenResponseError,
    HttpConnection,
    PeerClosedError,
    TruncatedResponseError,
)
from adminview.aws.transport.response import parse_response
from adminview.aws.transport.sigv4 import Credentials, Service, signed_headers

VERSION = "DynamoDB_20120810"
HEAD = "POST / HTTP/1.1\r\nUser-Agent: AdminView\r\nAccept-Encoding: identity\r\n"
MAX_CONCURRENCY = 24  # calls in flight; each has its own connection
# Seconds. After unsolicited bytes, the other connections are polled this long for theirs.
SUSPICION_SECONDS, POLL_SECONDS = 0.05, 0.005

Response: TypeAlias = dict[str, Any] | ClientError | BotoCoreError
Started: TypeAlias = HttpConnection | BotoCoreError | None  # sent, failed, or too late to send


class HttpClient:
    """Calls DynamoDB at one endpoint; thread-safe."""

    def __init__(
        self,
        url: str,
        region: str,
        credentials: Credentials,
        timeouts: tuple[float, float],  # seconds to connect, and to receive a response
    ) -> None:
        address = urlsplit(url)
        assert address.hostname
        host = f"[{address.hostname}]" if ":" in address.hostname else address.hostname
        default_port = {"https": 443, "http": 80}[address.scheme]
        port = address.port or default_port
        self._url = url
        self._address = (address.hostname, port)
        self._service = Service(
            "dynamodb", region, host if port == default_port else f"{host}:{port}"
        )
        self._credentials = credentials
        self._timeouts = timeouts
        self._tls = _tls_context() if address.scheme == "https" else None
        # At most as many as there were concurrent calls.
        self._idle: deque[HttpConnection] = deque()
        # Not used until they have been quiet, or never again.
        self._waiting: deque[HttpConnection] = deque()
        self._doubted: deque[Owners] = deque()
        self._is_suspicious = False
        finalize(self, _close, self._idle, self._waiting)

    def call(self, operation: str, body: bytes) -> dict[str, Any]:
        """Make one call and return its response; raises a ClientError or BotoCoreError."""
        request = self._request(operation, body)
        connection = self._kept() or self._connect()
        self._send(connection, request, CALL_OWNERS.get())
        return self._receive(connection, operation)

    def calls(
        self,
        operation: str,
        bodies: Iterable[bytes],
        deadline: Deadline,
        owners: Iterable[Owners] = (),
    ) -> Iterator[Response | None]:
        """Make calls concurrently; yield the response or the error of each, in order.

        The result is None for a call that was not started before the deadline. Stops after the
        first connection failure. No request is in flight when it returns. *owners* holds the owners
        of the rows of each call.
        """
        call_owners = iter(owners)
        in_flight: deque[Started] = deque()
        lost: BotoCoreError | None = None
        try:
            for body in bodies:
                owners_of_call = next(call_owners, ())
                while in_flight and (len(in_flight) == MAX_CONCURRENCY or _is_ready(in_flight[0])):
                    yield self._result(in_flight.popleft(), operation)
                if lost is not None or deadline.passed:
                    in_flight.append(lost)
                    continue
                try:
                    request = self._request(operation, body)
                    connection = self._kept() or self._connect()
                except BotoCoreError as error:
                    lost = error
                    in_flight.append(error)
                else:
                    in_flight.append(self._sent(connection, request, owners_of_call))
            while in_flight:
                yield self._result(in_flight.popleft(), operation)
        finally:
            self._drain(in_flight, operation)

    def find_in_doubt(self) -> Sequence[Owners]:
        """Return the owners of each answered call found to be in doubt since the last query.

        Polls all idle connections once, and for longer if unsolicited bytes have arrived on any
        since the last query.
        """
        self._listen()
        if self._is_suspicious:
            self._is_suspicious = False
            end = monotonic() + SUSPICION_SECONDS
            while monotonic() < end:
                sleep(POLL_SECONDS)
                self._listen()
        calls: list[Owners] = []
        with suppress(IndexError):
            while True:
                calls.append(self._doubted.popleft())
        return calls

    def keep_in_doubt(self, calls: Sequence[Owners], /) -> None:
        self._doubted.extend(calls)

    def _drain(self, in_flight: deque[Started], operation: str) -> None:
        """Receive all responses in flight, even if one raises: it may run out of memory again."""
        while in_flight:
            try:
                self._result(in_flight.popleft(), operation)
            except BaseException:
                self._drain(in_flight, operation)
                raise

    def _sent(
        self, connection: HttpConnection, request: bytes, owners: Owners
    ) -> HttpConnection | BotoCoreError:
        try:
            self._send(connection, request, owners)
        except BotoCoreError as error:
            return error
        return connection

    def _result(self, started: Started, operation: str) -> Response | None:
        if not isinstance(started, HttpConnection):
            return started
        try:
            return self._receive(started, operation)
        except (ClientError, BotoCoreError) as error:
            return error

    def _request(self, operation: str, body: bytes) -> bytes:
        target = f"{VERSION}.{operation}"
        headers = signed_headers(self._service, target, body, self._credentials)
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        return f"{HEAD}{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def _send(self, connection: HttpConnection, request: bytes, owners: Owners) -> None:
        connection.owners = owners
        with self._watched(connection):
            connection.send(request, self._timeouts[1])

    def _receive(self, connection: HttpConnection, operation: str) -> dict[str, Any]:
        """Return a call's response; raises a ClientError or BotoCoreError."""
        with self._watched(connection):
            http_response = connection.receive()
        try:
            response = parse_response(http_response, operation)
        except BotoCoreError:
            self._doubt(connection)  # not from DynamoDB: earlier responses may not be either
            raise
        except BaseException:
            self._keep(connection)
            raise
        self._keep(connection)
        return response

    @contextmanager
    def _watched(self, connection: HttpConnection) -> Iterator[None]:
        """Close a connection that fails, and raise the error of boto3."""
        try:
            yield
        except (OSError, BrokenResponseError, TruncatedResponseError) as error:
            if isinstance(error, BrokenResponseError) and not isinstance(error, PeerClosedError):
                self._doubt(connection)
            connection.close()
            if isinstance(error, TimeoutError):
                self._retire_idle()
            raise self._broken(error) from error
        except BaseException:
            connection.close()
            raise

    def _kept(self) -> HttpConnection | None:
        """Return the connection that has been idle longest, if nothing has arrived on it.

        A late unsolicited response is most likely to have arrived there.
        """
        if self._waiting:
            self._wake()
        with suppress(IndexError):
            while True:
                connection = self._idle.popleft()
                if not connection.has_news:
                    if connection.has_been_quiet(self._timeouts[1]):
                        connection.unproven.clear()
                    return connection
                self._end(connection)
        return None

    def _keep(self, connection: HttpConnection) -> None:
        """Keep a connection for later calls, unless it cannot be used again."""
        connection.accept()
        if not connection.reusable:
            self._end(connection)
        elif len(connection.unproven) < MOST_UNPROVEN:
            self._idle.append(connection)
        else:
            self._waiting.append(connection)

    def _end(self, connection: HttpConnection) -> None:
        """Close a connection; if unsolicited bytes have arrived on it, its calls are in doubt."""
        if connection.has_unsolicited:
            self._doubt(connection)
        connection.close()

    def _doubt(self, connection: HttpConnection) -> None:
        """Close a connection whose calls are in doubt, and use none of the others again."""
        self._doubted.extend(connection.unproven)
        connection.close()
        self._is_suspicious = True
        self._retire_idle()

    def _retire_idle(self) -> None:
        """Use none of the kept connections again: what broke one may have broken all.

        They stay open until they have been quiet, so that what arrives on them is noticed.
        """
        with suppress(IndexError):
            while True:
                connection = self._idle.popleft()
                connection.reusable = False
                self._waiting.append(connection)

    def _wake(self) -> None:
        """Reuse or close connections that have been quiet for as long as a response may take."""
        with suppress(IndexError):
            while True:
                connection = self._waiting.popleft()
                if not connection.has_been_quiet(self._timeouts[1]):
                    self._waiting.appendleft(connection)
                    return
                if connection.has_news or not connection.reusable:
                    self._end(connection)
                else:
                    connection.unproven.clear()
                    self._idle.append(connection)

    def _listen(self) -> None:
        """Poll every idle connection for bytes."""
        if self._waiting:
            self._wake()
        for connections in (self._idle, self._waiting):
            with suppress(IndexError):
                for _ in range(len(connections)):
                    connection = connections.popleft()
                    if connection.has_news:
                        self._end(connection)
                    else:
                        connections.append(connection)

    def _connect(self) -> HttpConnection:
        try:
            return HttpConnection.to(self._address, self._timeouts[0], self._tls)
        except OSError as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: OSError) -> BotoCoreError:
        if isinstance(error, TimeoutError):
            return ConnectTimeoutError(endpoint_url=self._url)
        if isinstance(error, ssl.SSLError):
            return SSLError(endpoint_url=self._url, error=error)
        return EndpointConnectionError(endpoint_url=self._url)

    def _broken(self, error: Exception) -> BotoCoreError:
        if isinstance(error, TimeoutError):
            return ReadTimeoutError(endpoint_url=self._url)
        if isinstance(error, TruncatedResponseError):
            return IncompleteReadError(actual_bytes=error.came, expected_bytes=error.announced)
        return ConnectionClosedError(endpoint_url=self._url)


def _is_ready(started: Started) -> bool:
    return not isinstance(started, HttpConnection) or started.has_news


def _close(*kept: Iterable[HttpConnection]) -> None:
    for connections in kept:
        for connection in connections:
            connection.close()


def _tls_context() -> ssl.SSLContext:
    """Return a TLS context with the certificates that botocore trusts."""
    try:
        from certifi import where  # noqa: PLC0415 - botocore prefers it if it is installed
    except ImportError:
        bundle = str(Path(botocore.__file__).with_name("cacert.pem"))
    else:
        bundle = where()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_verify_locations(bundle)
    return context
