"""A fake of DynamoDB on a real socket: each request gets the next fault, if one is left."""

import json
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any, Self
from uuid import uuid4
from zlib import crc32

TYPE = "com.amazonaws.dynamodb.v20120810#"


@dataclass
class Request:
    """A request, and the connection it arrived on."""

    connection: socket.socket
    head: str
    body: bytes
    server: "Faulty"

    @property
    def writes(self) -> list[Any]:
        """Return the writes of the request."""
        ((_, requests),) = json.loads(self.body)["RequestItems"].items()
        return list(requests)


Fault = Callable[[Request], object]  # returns True if the connection may be used again


def answer(status: int, content: bytes | str, **headers: str) -> Fault:
    """Send a complete response, without the headers that are empty."""
    body = content.encode() if isinstance(content, str) else content
    fields = {"content-length": str(len(body)), "x-amz-crc32": str(crc32(body))}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}

    def act(request: Request) -> bool:
        sent = {"x-amzn-requestid": str(uuid4())} | fields
        lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items() if value)
        request.connection.sendall(f"HTTP/1.1 {status} Status\r\n{lines}\r\n".encode() + body)
        return True

    return act


def refuse(code: str, status: int = 400) -> Fault:
    """Refuse as DynamoDB does, in a text that quotes a customer."""
    return answer(status, json.dumps({"__type": f"{TYPE}{code}", "message": "Ms Secret"}))


healthy = answer(200, '{"UnprocessedItems":{}}')


def leave_first(request: Request) -> object:
    """Leave the first write unprocessed."""
    left = json.dumps({"UnprocessedItems": {"AdminViewTable": request.writes[:1]}})
    return answer(200, left)(request)


def hang_up(request: Request) -> None:
    """Close the connection without a response."""


def reset(request: Request) -> None:
    """Reset the connection."""
    at_once = struct.pack("ii", 1, 0)
    request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)


def say(text: bytes, then: Fault = hang_up) -> Fault:
    """Send a text, and then fail."""

    def act(request: Request) -> object:
        request.connection.sendall(text)
        return then(request)

    return act


def wait(request: Request) -> None:
    """Send nothing until the test ends."""
    request.server.over.wait(60)


def close_when_idle(request: Request) -> None:
    """Respond, and close a connection that should stay open."""
    healthy(request)


HALF = b"HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\n{"


@dataclass
class Faulty:
    """Serves on its own port; healthy when no fault is left."""

    faults: list[Fault] = field(default_factory=list)
    wrap: Callable[[socket.socket], socket.socket] = lambda plain: plain
    scheme: str = "http"
    requests: list[Request] = field(default_factory=list)
    sockets: list[socket.socket] = field(default_factory=list)
    over: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._threads: list[Thread] = []
        self._start(self._serve)

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        self._threads.append(Thread(target=work, args=arguments, daemon=True))
        self._threads[-1].start()

    @property
    def connections(self) -> int:
        """Count the connections that were made."""
        return len(self.sockets)

    @property
    def url(self) -> str:
        """Return its URL."""
        return f"{self.scheme}://127.0.0.1:{self._socket.getsockname()[1]}"

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self.sockets.append(connection)
                self._start(self._talk, connection)

    def _talk(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(60)
            self.sockets[self.sockets.index(connection)] = connection = self.wrap(connection)
            with connection, connection.makefile("rb") as incoming:
                going_on: object = True
                while going_on and (request := self._read(incoming, connection)):
                    self.requests.append(request)
                    fault = self.faults.pop(0) if self.faults else healthy
                    going_on = fault(request)

    def _read(self, incoming: Any, connection: socket.socket) -> Request | None:
        head = b""
        while (line := incoming.readline()) != b"\r\n":
            if not line:
                return None
            head += line
        fields = dict(line.split(": ", 1) for line in head.decode().lower().splitlines()[1:])
        length = int(fields["content-length"])
        body = incoming.read(length)
        return Request(connection, head.decode(), body, self) if len(body) == length else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        for open_socket in (self._socket, *self.sockets):
            with suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in self._threads:
            thread.join(20)


@contextmanager
def deaf() -> Iterator[str]:
    """Yield an address that neither accepts nor refuses connections: its backlog is full."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting: Sequence[socket.socket] = [socket.socket() for _ in range(4)]
        for client in waiting:
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        for client in waiting:
            client.close()


def refusing() -> str:
    """Return an address on which no server listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"
