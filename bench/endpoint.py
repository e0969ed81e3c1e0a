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
class Endpoint:
    """A running stub, in a process of its own."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer_after(self, milliseconds: int) -> None:
        """Delay each response from now on."""
        self._get(f"/latency/{milliseconds}")

    def take(self) -> dict[str, int]:
        """Return the calls and bytes since the last time."""
        counts: dict[str, int] = json.loads(self._get("/take"))
        return counts

    def keep(self) -> None:
        """Keep the bodies of the calls from now on."""
        self._get("/keep")

    def bodies(self) -> list[dict[str, Any]]:
        """Return the bodies that were kept, and keep no more."""
        kept: list[dict[str, Any]] = json.loads(self._get("/bodies"))
        return kept

    def _get(self, path: str) -> bytes:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path)
            return connection.getresponse().read()
        finally:
            connection.close()


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    """Run a stub."""
    command = [sys.executable, "-m", "bench.stub"]
    with subprocess.Popen(  # noqa: S603 - our own module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield Endpoint(int(process.stdout.readline()))
        finally:
            process.stdin.close()
