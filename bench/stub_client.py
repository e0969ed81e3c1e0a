"""Start, control and stop the stub of DynamoDB."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any


@dataclass(frozen=True, slots=True)
class StubClient:
    """Controls a running stub, which is a process of its own."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def set_latency(self, milliseconds: int) -> None:
        """Delay each response from now on."""
        self._get(f"/latency/{milliseconds}")

    def take_counts(self) -> dict[str, int]:
        """Return the calls and bytes since the last call of this method."""
        counts: dict[str, int] = json.loads(self._get("/counts"))
        return counts

    def record_bodies(self) -> None:
        """Record the bodies of all calls from now on."""
        self._get("/record")

    def take_bodies(self) -> list[dict[str, Any]]:
        """Return the recorded bodies, and stop recording."""
        bodies: list[dict[str, Any]] = json.loads(self._get("/bodies"))
        return bodies

    def _get(self, path: str) -> bytes:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path)
            return connection.getresponse().read()
        finally:
            connection.close()


@contextmanager
def running_stub() -> Iterator[StubClient]:
    """Run a stub in a new process, and end it on exit."""
    command = [sys.executable, "-m", "bench.dynamodb_stub"]
    with subprocess.Popen(  # noqa: S603 - our own module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield StubClient(int(process.stdout.readline()))
        finally:
            process.stdin.close()
