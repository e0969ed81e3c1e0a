"""One HTTP connection for complete requests and for responses of a known length.

`http.client` parses the head of a response with a mail parser, and its timeout covers a single
read: a response that trickles in would never time out. DynamoDB states the length of its responses.
A 200 without a length counts as broken; of any other status, only the status is used.

HTTP/1.1 does not say which request a response belongs to. Four rules keep an unsolicited
response (a duplicate, a proxy's message) from being taken for the response to the next request:

- a connection on which bytes or the end of the stream arrived while it was idle is not used again;
- the last byte of a request is sent only if nothing has arrived before it;
- a response that is followed by more bytes is accepted only if it is the first on its connection;
- a connection is kept only if its responses carry a request id, and a known id is rejected.

A response with a request id of its own that arrives after the last byte of a request and before the
response to it passes them all. The response to that request then arrives later: on the idle
connection, or as the response to the next request. So a connection remembers whose rows its calls
were about (`unproven`) until nothing has arrived on it for as long as a response may take. If bytes
arrive before that, all these calls are in doubt, and `HttpClient.find_in_doubt` names them.

What remains: a call whose own response does not arrive after another was taken for it, or arrives
when nobody listens any more (the container is not used again).
"""

import socket
import ssl
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from select import POLLIN, poll
from time import monotonic
from typing import Self

from adminview.aws.call_owners import Owners

HEAD_END = b"\r\n\r\n"
LONGEST_HEAD = 64 * 1024
PIECE = 256 * 1024  # bytes that are read at once, at most
# Seconds. After the timeout, bytes that have already arrived are still read, for GRACE at most.
SHORTEST_TIMEOUT, GRACE = 0.001, 0.25
OK = 200
LONGEST_LENGTH = 12  # digits: far more than DynamoDB sends
REQUEST_ID = "x-amzn-requestid"  # DynamoDB gives each response its own
REMEMBERED_IDS = 16
MOST_UNPROVEN = 64  # calls; a connection with so many is not used until it has been quiet
# Errors of sending if the peer has closed the connection; it may have sent a response before.
SEND_ERRORS = (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError, ssl.SSLZeroReturnError)


class BrokenResponseError(Exception):
    """The bytes received are not a valid response."""


class PeerClosedError(BrokenResponseError):
    """The peer closed the connection before a response."""


class UnsolicitedResponseError(BrokenResponseError):
    """Bytes arrived that cannot be attributed to the request."""


class TruncatedResponseError(Exception):
    """A response is shorter than its stated length."""

    def __init__(self, came: int, announced: int) -> None:
        super().__init__()
        self.came, self.announced = came, announced


@dataclass(slots=True)
class HttpResponse:
    """A response; header names are in lower case."""

    status: int
    headers: dict[str, str]
    content: bytes


class HttpConnection:
    """An open connection with at most one request in flight."""

    def __init__(self, open_socket: socket.socket) -> None:
        self._socket = open_socket
        self._poll = poll()
        self._poll.register(open_socket, POLLIN)
        self._until = 0.0
        self._arrived = b""  # read from the socket, but not yet part of a response
        self._sent_whole = False
        self._request_ids: deque[str] = deque(maxlen=REMEMBERED_IDS)
        self._sent_at = 0.0
        self.reusable = True
        self.owners: Owners = ()  # of the rows of the call in flight
        self.unproven: list[Owners] = []  # of answered calls whose response is not certain yet

    @classmethod
    def to(cls, address: tuple[str, int], seconds: float, tls: ssl.SSLContext | None) -> Self:
        """Connect; *seconds* cover all addresses and the TLS handshake. Raises an OSError."""
        deadline = monotonic() + seconds
        opened = _open(address, deadline)
        try:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            opened.settimeout(_time_left(deadline))
            return cls(tls.wrap_socket(opened, server_hostname=address[0]) if tls else opened)
        except BaseException:
            opened.close()
            raise

    @property
    def has_news(self) -> bool:
        """Whether bytes or the end of the stream have arrived; never blocks.

        Over TLS a readable socket is not enough: it may hold a session ticket and no data.
        """
        return bool(self._arrived) or (self._is_readable() and self._read_ahead())

    @property
    def has_unsolicited(self) -> bool:
        """Whether bytes have been read that belong to no request."""
        return bool(self._arrived)

    def has_been_quiet(self, seconds: float) -> bool:
        """Return whether the last request was sent more than *seconds* ago."""
        return monotonic() - self._sent_at > seconds

    def accept(self) -> None:
        """Record the call that was just answered as unproven."""
        if self.owners:
            self.unproven.append(self.owners)

    def send(self, request: bytes, seconds: float) -> None:
        """Send a request whose response must arrive within *seconds* from now.

        The last byte is sent only if nothing has arrived: no response to this request can be
        earlier. A server may refuse a request before its end, so a first request stops there and
        `receive` reads the refusal. On a used connection the bytes may be anything: this raises an
        UnsolicitedResponseError or a PeerClosedError.
        """
        self._sent_at = monotonic()
        self._until = self._sent_at + seconds
        self._socket.settimeout(seconds)
        text = memoryview(request)
        self._sent_whole = False
        with suppress(*SEND_ERRORS):
            self._socket.sendall(text[:-1])
            if not self.has_news:
                self._socket.sendall(text[-1:])
                self._sent_whole = True
        if not self._sent_whole:
            self.reusable = False
            if self._is_used:
                raise (
                    UnsolicitedResponseError if self.has_news and self._arrived else PeerClosedError
                )

    def receive(self) -> HttpResponse:
        """Read the response; raises an OSError or one of this module's errors."""
        received, self._arrived = self._arrived, b""
        while (end := received.find(HEAD_END)) < 0:
            if len(received) > LONGEST_HEAD:
                raise BrokenResponseError
            received += self._read()
        status, headers = _head(received[:end])
        content, length = received[end + len(HEAD_END) :], _length(headers)
        if length is None:
            if self._is_used:
                raise UnsolicitedResponseError
            if status == OK:
                raise BrokenResponseError
            self.reusable = False
            return HttpResponse(status, headers, b"")
        if len(content) < length:
            content = self._rest(content, length)
        self._arrived = content[length:]
        self._attribute(status, headers)
        return HttpResponse(status, headers, content[:length])

    @property
    def _is_used(self) -> bool:
        """Whether this connection has carried a response before."""
        return bool(self._request_ids)

    def _attribute(self, status: int, headers: dict[str, str]) -> None:
        """Raise an UnsolicitedResponseError if the response may belong to another request."""
        request_id = headers.get(REQUEST_ID, "")
        ended = self.has_news and not self._arrived
        attributable = request_id and request_id not in self._request_ids and not self._arrived
        if (self._is_used and not attributable) or (status == OK and not self._sent_whole):
            raise UnsolicitedResponseError
        if ended or not attributable or headers.get("connection", "").lower() == "close":
            self.reusable = False
        self._request_ids.append(request_id)

    def _is_readable(self) -> bool:
        decrypted = self._socket.pending() if isinstance(self._socket, ssl.SSLSocket) else 0
        return bool(decrypted or self._poll.poll(0))

    def _read_ahead(self) -> bool:
        """Read without blocking; return whether data or the end of the stream arrived."""
        timeout = self._socket.gettimeout()
        self._socket.settimeout(0)
        try:
            self._arrived = self._socket.recv(PIECE)
        except (BlockingIOError, ssl.SSLWantReadError):
            return False
        except OSError:
            return True  # the next read raises it, or finds the end
        finally:
            self._socket.settimeout(timeout)
        return True

    def close(self) -> None:
        self._socket.close()

    def _rest(self, content: bytes, length: int) -> bytes:
        pieces, came = [content], len(content)
        while came < length:
            try:
                pieces.append(self._read())
            except PeerClosedError as error:
                raise TruncatedResponseError(came, length) from error
            came += len(pieces[-1])
        return b"".join(pieces)

    def _read(self) -> bytes:
        left = self._until - monotonic()
        if left < -GRACE:
            raise TimeoutError
        self._socket.settimeout(max(left, SHORTEST_TIMEOUT))
        if not (piece := self._socket.recv(PIECE)):
            raise PeerClosedError
        return piece


def _open(address: tuple[str, int], deadline: float) -> socket.socket:
    """Connect to the first address that responds; each gets a share of the time left."""
    addresses = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
    failure: OSError = TimeoutError()
    for position, (family, kind, protocol, _, socket_address) in enumerate(addresses):
        opened = socket.socket(family, kind, protocol)
        try:
            opened.settimeout(_time_left(deadline) / (len(addresses) - position))
            opened.connect(socket_address)
        except BaseException as error:
            opened.close()
            if not isinstance(error, OSError):
                raise
            failure = error
        else:
            return opened
    raise failure


def _time_left(deadline: float) -> float:
    """Return the seconds left, or raise a TimeoutError."""
    if (left := deadline - monotonic()) <= 0:
        raise TimeoutError
    return left


def _head(text: bytes) -> tuple[int, dict[str, str]]:
    """Parse the status and the headers of a response."""
    first, *lines = text.decode("latin-1").split("\r\n")
    protocol, _, rest = first.partition(" ")
    status = rest[:3]
    if protocol != "HTTP/1.1" or not status.isdecimal() or int(status) < OK:
        raise BrokenResponseError  # a status below 200 is interim, and was not requested
    parts = (line.partition(":") for line in lines)
    return int(status), {name.lower(): value.strip() for name, _, value in parts}


def _length(headers: dict[str, str]) -> int | None:
    """Return the stated length of the content; None if there is no valid one."""
    length = headers.get("content-length", "")
    if "transfer-encoding" in headers or not 0 < len(length) <= LONGEST_LENGTH:
        return None
    return int(length) if length.isdecimal() else None
