"""One HTTP connection, on which whole requests go out and answers of a known length come in.

`http.client` reads the head of an answer with a parser made for mail, and its timeout is that of a
single read: an answer that trickles would have no end. DynamoDB says how long its answers are. One
of 200 that does not say it counts as broken; of another, whoever gave it, only the status is heard.
"""

import socket
import ssl
from dataclasses import dataclass
from select import POLLIN, poll
from time import monotonic
from typing import Self

HEAD_END = b"\r\n\r\n"
LONGEST_HEAD = 64 * 1024
PIECE = 256 * 1024  # bytes that are read at once, at most
# Seconds: what has come already is still read when the time is over, and for so long at the most.
AN_INSTANT, GRACE = 0.001, 0.25
OK = 200
LONGEST_LENGTH = 12  # digits: far more than DynamoDB sends
# How it shows that the other side no longer listens; it may have said why before.
DEAF = (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError, ssl.SSLZeroReturnError)


class BrokenAnswerError(Exception):
    """What came is no answer."""


class HungUpError(BrokenAnswerError):
    """Nothing came any more."""


class CutShortError(Exception):
    """An answer ended before its end."""

    def __init__(self, came: int, announced: int) -> None:
        super().__init__()
        self.came, self.announced = came, announced


@dataclass(slots=True)
class Answer:
    """What was answered; the names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    content: bytes


class Connection:
    """A connection that is open; one request at a time is under way on it."""

    def __init__(self, open_socket: socket.socket) -> None:
        self._socket = open_socket
        self._poll = poll()
        self._poll.register(open_socket, POLLIN)
        self._until = 0.0
        self.reusable = True

    @classmethod
    def to(cls, address: tuple[str, int], seconds: float, tls: ssl.SSLContext | None) -> Self:
        """Connect, or raise an OSError."""
        opened = socket.create_connection(address, seconds)
        try:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            return cls(tls.wrap_socket(opened, server_hostname=address[0]) if tls else opened)
        except BaseException:
            opened.close()
            raise

    @property
    def has_news(self) -> bool:
        """Tell whether something has come: an answer, or the end of the connection."""
        return bool(self._poll.poll(0))

    def send(self, request: bytes, seconds: float) -> None:
        """Send a request, whose answer may take until so many *seconds* from now."""
        self._until = monotonic() + seconds
        self._socket.settimeout(seconds)
        try:
            self._socket.sendall(request)
        except DEAF:
            self.reusable = False

    def receive(self) -> Answer:
        """Read the answer whole."""
        received = b""
        while (end := received.find(HEAD_END)) < 0:
            if len(received) > LONGEST_HEAD:
                raise BrokenAnswerError
            received += self._read()
        status, headers = _head(received[:end])
        content, length = received[end + len(HEAD_END) :], _length(headers)
        if length is None:
            if status == OK:
                raise BrokenAnswerError
            self.reusable = False
            return Answer(status, headers, b"")
        if len(content) < length:
            content = self._rest(content, length)
        if len(content) > length or headers.get("connection", "").lower() == "close":
            self.reusable = False
        return Answer(status, headers, content[:length])

    def close(self) -> None:
        """Use it no more."""
        self._socket.close()

    def _rest(self, content: bytes, length: int) -> bytes:
        pieces, came = [content], len(content)
        while came < length:
            try:
                pieces.append(self._read())
            except HungUpError as error:
                raise CutShortError(came, length) from error
            came += len(pieces[-1])
        return b"".join(pieces)

    def _read(self) -> bytes:
        left = self._until - monotonic()
        if left < -GRACE:
            raise TimeoutError
        self._socket.settimeout(max(left, AN_INSTANT))
        if not (piece := self._socket.recv(PIECE)):
            raise HungUpError
        return piece


def _head(text: bytes) -> tuple[int, dict[str, str]]:
    """Read the head of an answer."""
    first, *lines = text.decode("latin-1").split("\r\n")
    protocol, _, rest = first.partition(" ")
    status = rest[:3]
    if protocol != "HTTP/1.1" or not status.isdecimal() or int(status) < OK:
        raise BrokenAnswerError  # what is below is not an answer yet, and nobody asked for it
    parts = (line.partition(":") for line in lines)
    return int(status), {name.lower(): value.strip() for name, _, value in parts}


def _length(headers: dict[str, str]) -> int | None:
    """Say how long the content is, if that is said in a way that is understood."""
    length = headers.get("content-length", "")
    if "transfer-encoding" in headers or not 0 < len(length) <= LONGEST_LENGTH:
        return None
    return int(length) if length.isdecimal() else None
