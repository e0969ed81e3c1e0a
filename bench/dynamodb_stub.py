"""A stub of DynamoDB that responds at once or after a delay, and counts calls and bytes.

It runs in a process of its own, so that its processor time is not measured. `python -m
bench.dynamodb_stub` prints its port, and ends when its standard input ends.
"""

import asyncio
import json
import sys
from collections.abc import Callable
from itertools import count
from typing import Final

from bench.query.model import query_response
from bench.totals import items

RESPONSES: Final[dict[bytes, Callable[[bytes], bytes]]] = {
    b"BatchWriteItem": lambda _: b'{"UnprocessedItems":{}}',
    b"Query": query_response,
    b"UpdateItem": items.response,
}
HEADERS_END: Final = b"\r\n\r\n"
LENGTH, TARGET = b"content-length:", b"x-amz-target:"
REQUEST_IDS: Final = count(1)
CONTROL: Final = b"GET "  # DynamoDB's calls are POST requests


class DynamoDbStub:
    """The calls since the last `/counts`, and the delay of a response."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.calls = self.bytes = 0
        self.bodies: list[bytes] | None = None

    def control(self, path: str) -> bytes:
        """Handle a request of the benchmark; `/counts` returns the counts and resets them."""
        if path.startswith("/latency/"):
            self.seconds = float(path.rpartition("/")[2]) / 1000
        elif path == "/record":
            self.bodies = []
        elif path == "/bodies":
            recorded, self.bodies = self.bodies or [], None
            return b"[" + b",".join(recorded) + b"]"
        counts = {"calls": self.calls, "bytes": self.bytes}
        self.calls = self.bytes = 0
        return json.dumps(counts).encode()


class StubConnection(asyncio.Protocol):
    """One connection, on which requests come one after another."""

    def __init__(self, stub: DynamoDbStub) -> None:
        self._stub = stub
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Respond to each complete request."""
        self._received += data
        while (end := self._received.find(HEADERS_END)) >= 0:
            head = bytes(self._received[:end])
            size = end + len(HEADERS_END) + int(_header(head, LENGTH) or 0)
            if len(self._received) < size:
                return
            body = bytes(self._received[end + len(HEADERS_END) : size])
            del self._received[:size]
            self._respond(head, body, size)

    def _respond(self, head: bytes, body: bytes, size: int) -> None:
        if head.startswith(CONTROL):
            self._write(self._stub.control(head.split(b" ", 2)[1].decode()))
            return
        self._stub.calls += 1
        self._stub.bytes += size
        if self._stub.bodies is not None:
            self._stub.bodies.append(body)
        respond_to = RESPONSES.get(_header(head, TARGET).rpartition(b".")[2])
        response = respond_to(body) if respond_to else b"{}"
        if self._stub.seconds:
            loop = asyncio.get_running_loop()
            loop.call_later(self._stub.seconds, self._write, response)
        else:
            self._write(response)

    def _write(self, response: bytes) -> None:
        assert self._transport
        self._transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\n"
            b"x-amzn-RequestId: %d\r\nContent-Length: %d\r\n\r\n%b"
            % (next(REQUEST_IDS), len(response), response)
        )


def _header(head: bytes, name: bytes) -> bytes:
    start = head.lower().find(b"\r\n" + name)
    if start < 0:
        return b""
    return head[start + len(name) + 2 :].split(b"\r\n", 1)[0].strip()


async def serve() -> None:
    """Serve until the standard input ends."""
    loop = asyncio.get_running_loop()
    stub = DynamoDbStub()
    server = await loop.create_server(lambda: StubConnection(stub), "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve())
