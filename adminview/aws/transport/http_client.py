"""DynamoDB over plain connections, for bodies that are JSON already.

A boto3 client takes a call apart, checks it, spells it and reads the answer in ten times the time.
What it does besides is here, and each fault is held by a test against a socket that has it:

- requests are signed with static credentials: Lambda sets them when it starts an execution
  environment and replaces the environment before they expire (see `way` for all other cases);
- connections are kept, but one that was closed or that sent anything unasked is not used again;
- calls whose response may have been another's are found and named (`find_in_doubt`);
- an answer that is not whole, not JSON or not what its checksum says counts as none;
- every fault is raised as the error that a boto3 client raises for it, and quotes nothing.

Several calls can be under way at once without a thread: each is sent on a connection of its own,
and answers are read in the order of the calls. There is no retry: whoever calls knows how much time
is left.
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
    Connection,
    PeerClosedError,
    TruncatedResponseError,
)
from adminview.aws.transport.response import parse_response
from adminview.aws.transport.sigv4 import Credentials, Service, signed_headers

VERSION = "DynamoDB_20120810"
HEAD = "POST / HTTP/1.1\r\nUser-Agent: AdminView\r\nAccept-Encoding: identity\r\n"
MAX_CONCURRENCY = 24  # calls under way; each has a connection, made when no other is free
# Seconds: after unsolicited bytes, the other connections have this time to show theirs.
SUSPENSE, LOOK = 0.05, 0.005

Response: TypeAlias = dict[str, Any] | ClientError | BotoCoreError
UnderWay: TypeAlias = deque[Connection | BotoCoreError | None]  # sent, failed, or not begun in time


class HttpClient:
    """Calls to DynamoDB at one address; any number of threads may make them."""

    def __init__(
        self,
        url: str,
        region: str,
        credentials: Credentials,
        timeouts: tuple[float, float],  # seconds to connect, and for an answer
    ) -> None:
        place = urlsplit(url)
        assert place.hostname
        host = f"[{place.hostname}]" if ":" in place.hostname else place.hostname
        usual = {"https": 443, "http": 80}[place.scheme]
        port = place.port or usual
        self._url = url
        self._address = (place.hostname, port)
        self._service = Service("dynamodb", region, host if port == usual else f"{host}:{port}")
        self._credentials = credentials
        self._timeouts = timeouts
        self._tls = _trusting() if place.scheme == "https" else None
        self._idle: deque[Connection] = deque()  # never more than there were calls at once
        self._resting: deque[Connection] = deque()  # not used until they have been quiet, or ever
        self._doubted: deque[Owners] = deque()
        self._is_suspicious = False
        finalize(self, _close, self._idle, self._resting)

    def call(self, operation: str, body: bytes) -> dict[str, Any]:
        """Make one call, and give its answer."""
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
        """Make calls, some at once: the answer or the error of each in turn; None if it was late.

        Who cannot be reached is not asked again. However it ends, no call is under way then.
        *owners* names those of the rows of each call.
        """
        about = iter(owners)
        under_way: UnderWay = deque()
        lost: BotoCoreError | None = None
        try:
            for body in bodies:
                whose = next(about, ())
                while under_way and (len(under_way) == MAX_CONCURRENCY or _is_ready(under_way[0])):
                    yield self._result(under_way.popleft(), operation)
                if lost is not None or deadline.passed:
                    under_way.append(lost)
                    continue
                try:
                    request = self._request(operation, body)
                    connection = self._kept() or self._connect()
                except BotoCoreError as error:
                    lost = error
                    under_way.append(error)
                else:
                    under_way.append(self._sent(connection, request, whose))
            while under_way:
                yield self._result(under_way.popleft(), operation)
        finally:
            self._drain(under_way, operation)

    def find_in_doubt(self) -> Sequence[Owners]:
        """Return the owners of each answered call that was found to be in doubt since last asked.

        Listens once more to all connections that are not in use; for longer if unsolicited bytes
        have arrived on any since it was last called.
        """
        self._listen()
        if self._is_suspicious:
            self._is_suspicious = False
            end = monotonic() + SUSPENSE
            while monotonic() < end:
                sleep(LOOK)
                self._listen()
        calls: list[Owners] = []
        with suppress(IndexError):
            while True:
                calls.append(self._doubted.popleft())
        return calls

    def keep_in_doubt(self, calls: Sequence[Owners], /) -> None:
        """Return *calls* again the next time, because they could not be reported."""
        self._doubted.extend(calls)

    def _drain(self, under_way: UnderWay, operation: str) -> None:
        """Hear all that are under way, whatever happens meanwhile: want of memory comes again."""
        while under_way:
            try:
                self._result(under_way.popleft(), operation)
            except BaseException:
                self._drain(under_way, operation)
                raise

    def _sent(
        self, connection: Connection, request: bytes, owners: Owners
    ) -> Connection | BotoCoreError:
        try:
            self._send(connection, request, owners)
        except BotoCoreError as error:
            return error
        return connection

    def _result(self, one: Connection | BotoCoreError | None, operation: str) -> Response | None:
        if not isinstance(one, Connection):
            return one
        try:
            return self._receive(one, operation)
        except (ClientError, BotoCoreError) as error:
            return error

    def _request(self, operation: str, body: bytes) -> bytes:
        """Write a request, signed."""
        target = f"{VERSION}.{operation}"
        headers = signed_headers(self._service, target, body, self._credentials)
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        return f"{HEAD}{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def _send(self, connection: Connection, request: bytes, owners: Owners) -> None:
        connection.owners = owners
        with self._watched(connection):
            connection.send(request, self._timeouts[1])

    def _receive(self, connection: Connection, operation: str) -> dict[str, Any]:
        """Read an answer, and see whether it is sound."""
        with self._watched(connection):
            answer = connection.receive()
        try:
            response = parse_response(answer, operation)
        except BotoCoreError:
            self._doubt(connection)  # not a response of DynamoDB: those before may not be either
            raise
        except BaseException:
            self._keep(connection)
            raise
        self._keep(connection)
        return response

    @contextmanager
    def _watched(self, connection: Connection) -> Iterator[None]:
        """Close a connection that fails, and raise what boto3 would."""
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

    def _kept(self) -> Connection | None:
        """Take the connection that has been idle longest, if nothing has arrived on it.

        A late response that nobody asked for is most likely to have shown itself there.
        """
        if self._resting:
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

    def _keep(self, connection: Connection) -> None:
        """Keep a connection for the next call, unless it must rest or cannot be used again."""
        connection.accept()
        if not connection.reusable:
            self._end(connection)
        elif len(connection.unproven) < MOST_UNPROVEN:
            self._idle.append(connection)
        else:
            self._resting.append(connection)

    def _end(self, connection: Connection) -> None:
        """Close a connection; if unsolicited bytes have arrived on it, its calls are in doubt."""
        if connection.has_unsolicited:
            self._doubt(connection)
        connection.close()

    def _doubt(self, connection: Connection) -> None:
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
                self._resting.append(connection)

    def _wake(self) -> None:
        """Use connections again, or close them, that have rested as long as a response may take."""
        with suppress(IndexError):
            while True:
                connection = self._resting.popleft()
                if not connection.has_been_quiet(self._timeouts[1]):
                    self._resting.appendleft(connection)
                    return
                if connection.has_news or not connection.reusable:
                    self._end(connection)
                else:
                    connection.unproven.clear()
                    self._idle.append(connection)

    def _listen(self) -> None:
        """Look for bytes on every connection that is not in use."""
        if self._resting:
            self._wake()
        for connections in (self._idle, self._resting):
            with suppress(IndexError):
                for _ in range(len(connections)):
                    connection = connections.popleft()
                    if connection.has_news:
                        self._end(connection)
                    else:
                        connections.append(connection)

    def _connect(self) -> Connection:
        try:
            return Connection.to(self._address, self._timeouts[0], self._tls)
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


def _is_ready(one: Connection | BotoCoreError | None) -> bool:
    return not isinstance(one, Connection) or one.has_news


def _close(*kept: Iterable[Connection]) -> None:
    for connections in kept:
        for connection in connections:
            connection.close()


def _trusting() -> ssl.SSLContext:
    """Trust whom botocore trusts."""
    try:
        from certifi import where  # noqa: PLC0415 - botocore takes it where it is installed
    except ImportError:
        bundle = str(Path(botocore.__file__).with_name("cacert.pem"))
    else:
        bundle = where()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_verify_locations(bundle)
    return context
