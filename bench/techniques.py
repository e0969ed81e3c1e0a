"""`python -m bench.techniques`: the effect of each technique, measured without it.

Each is switched off in a process of its own, and the sync is measured with and without it: the same
stream, round by round in turn. It takes about a minute, and means little on a busy machine.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from statistics import median
from typing import Any, Final, cast
from unittest.mock import patch
from urllib.parse import urlsplit

from bench.crew import run_module
from bench.endpoint import Endpoint, endpoint
from bench.measure import Progress
from bench.quiet import apart
from bench.report import number, table
from bench.streams import NEUTRAL, ORDINARY, Load
from bench.ways import Handle, connect
from bench.worker import events, run

ROUNDS: Final = 5
LARGE: Final = Load(10_000, batch=10_000)  # more than Lambda hands to a function
MODULE: Final = "bench.techniques"
ENDPOINT: Final = "AWS_ENDPOINT_URL_DYNAMODB"


@dataclass(frozen=True, slots=True)
class Technique:
    """A technique, and how to switch it off."""

    what: str
    without: Callable[[], AbstractContextManager[Any]]
    load: Load = NEUTRAL
    latency: int = 0


def spelled_by_python() -> AbstractContextManager[Any]:
    """Let Python's own module write and read JSON."""
    from adminview.model import json_codec as spelling  # noqa: PLC0415 - only where it is measured, like the next

    return patch.object(spelling, "orjson", None)


def derived_again() -> AbstractContextManager[Any]:
    """Let the image before a change be derived, though it is the one after the last change."""
    from adminview.sync import plan as prepare  # noqa: PLC0415

    def derive_before(batch: Any, change: Any) -> Any:
        batch.derived.clear()
        return before(batch, change)

    before = prepare._derive_before  # noqa: SLF001
    return patch.object(prepare, "_derive_before", derive_before)


def kept_to_the_end() -> AbstractContextManager[Any]:
    """Let the rows of every item be kept, as if each changed again in the batch."""
    from adminview.sync import plan as prepare  # noqa: PLC0415

    add = prepare._add  # noqa: SLF001

    def add_and_keep(batch: Any, position: int, change: Any, **_: bool) -> Any:
        return add(batch, position, change, again=True)

    return patch.object(prepare, "_add", add_and_keep)


def decoded() -> AbstractContextManager[Any]:
    """Let every value that a row shows be turned into Python's and back."""
    from adminview.model.item import Item  # noqa: PLC0415

    def pick(item: Item, *names: str) -> dict[str, Any]:
        return {name: _python(item[name]) for name in names if name in item}

    return patch.object(Item, "pick", pick)


def _python(value: Any) -> Any:
    """Decode a value to its end."""
    if isinstance(value, Mapping):
        return {name: _python(value[name]) for name in value}
    return [_python(one) for one in value] if isinstance(value, list) else value


def one_row_a_call() -> AbstractContextManager[Any]:
    """Let each row have a call of its own."""
    from adminview.aws import view_table  # noqa: PLC0415

    return patch.object(view_table, "BATCH_LIMIT", 1)


def written_unchanged() -> AbstractContextManager[Any]:
    """Let rows be written that are what they were."""
    from adminview.sync import plan as prepare  # noqa: PLC0415

    def all_of(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> dict[Any, Any]:
        return {**dict.fromkeys(key for key in before if key not in after), **after}

    return patch.object(prepare, "diff", all_of)


def signed_by_botocore() -> AbstractContextManager[Any]:
    """Let botocore's own signer sign."""
    from botocore.auth import SigV4Auth  # noqa: PLC0415
    from botocore.awsrequest import AWSRequest  # noqa: PLC0415
    from botocore.credentials import Credentials  # noqa: PLC0415

    from adminview.aws.transport import http_client as direct  # noqa: PLC0415
    from adminview.aws.transport import sigv4 as signature  # noqa: PLC0415

    def sign(service: Any, target: str, body: bytes, keys: Any) -> dict[str, str]:
        headers = {"Content-Type": signature.CONTENT_TYPE, "X-Amz-Target": target}
        request: Any = AWSRequest("POST", f"http://{service.host}/", headers, body)
        known = Credentials(keys.access_key, keys.secret_key, keys.token)
        SigV4Auth(known, service.name, service.region).add_auth(request)
        return dict(request.headers.items())

    return patch.object(direct, "signed_headers", sign)


def by_threads() -> AbstractContextManager[Any]:
    """Let each call have a thread, eight at once, as those of a boto3 client have."""
    from adminview.aws.concurrency import map_concurrently, thread_pool  # noqa: PLC0415
    from adminview.aws.transport.http_client import HttpClient  # noqa: PLC0415

    threads = thread_pool()

    def calls(direct: HttpClient, operation: str, bodies: Iterable[bytes], *_: object) -> list[Any]:
        return map_concurrently(lambda body: direct.call(operation, body), [*bodies], threads)

    return patch.object(HttpClient, "calls", calls)


def one_call_at_a_time() -> AbstractContextManager[Any]:
    """Let each call wait for the one before it."""
    from adminview.aws.transport import http_client as direct  # noqa: PLC0415

    return patch.object(direct, "MAX_CONCURRENCY", 1)


def read_by_http_client() -> AbstractContextManager[Any]:
    """Let Python's own module read answers."""
    from http.client import HTTPResponse  # noqa: PLC0415
    from io import BufferedReader, RawIOBase  # noqa: PLC0415

    from adminview.aws.transport.connection import Connection, HttpResponse  # noqa: PLC0415

    class Bytes(RawIOBase):
        """What a connection has received, and what it receives yet."""

        def __init__(self, connection: Connection) -> None:
            self._connection: Any = connection

        def readable(self) -> bool:
            return True

        def readinto(self, room: Any) -> int:
            arrived = self._connection._arrived or self._connection._read()  # noqa: SLF001
            read = arrived[: len(room)]
            self._connection._arrived = arrived[len(read) :]  # noqa: SLF001
            room[: len(read)] = read
            return len(read)

        def makefile(self, _: str) -> BufferedReader:
            return BufferedReader(self)

    def receive(connection: Connection) -> HttpResponse:
        response = HTTPResponse(cast("Any", Bytes(connection)), method="POST")
        response.begin()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return HttpResponse(response.status, headers, response.read())

    return patch.object(Connection, "receive", receive)


def through_boto3() -> AbstractContextManager[Any]:
    """Let a boto3 client make the calls."""
    from adminview.aws.settings import PLAIN_CLIENT  # noqa: PLC0415

    return patch.dict(os.environ, {PLAIN_CLIENT: "true"})


TECHNIQUES: Final = {
    "batches": Technique("25 rows to a call", one_row_a_call),
    "boto3": Technique("the direct HTTP client, not boto3", through_boto3),
    "signer": Technique("a signer of 40 lines, not botocore's", signed_by_botocore),
    "orjson": Technique("JSON by orjson, not Python's own", spelled_by_python),
    "wire": Technique("values left as they come", decoded),
    "http": Technique("answers read by 40 lines, not http.client", read_by_http_client),
    "threads": Technique("calls at once without threads", by_threads),
    "at-once": Technique("24 calls at once, at 8 ms", one_call_at_a_time, latency=8),
    "by-eight": Technique("the same, not eight threads", by_threads, latency=8),
    "kept": Technique("rows forgotten at once, 10,000 in a batch", kept_to_the_end, LARGE),
    "derived": Technique("an image derived once, ordinary stream", derived_again, ORDINARY),
    "unchanged": Technique("only rows that differ, ordinary stream", written_unchanged, ORDINARY),
}


def without(name: str) -> None:
    """Measure in turn with and without one technique, and print it."""
    answers = apart()
    technique = TECHNIQUES[name]
    as_it_is = connect("adminview")
    with technique.without():
        lacking = connect("adminview")
    took: dict[str, list[Any]] = {"with": [], "without": []}
    for turn in range(ROUNDS + 1):
        one = taken(as_it_is, technique.load)
        with technique.without():
            other = taken(lacking, technique.load)
        if turn:  # the first warms up
            took["with"].append(one)
            took["without"].append(other)
    os.write(answers, json.dumps(took).encode())


def taken(handle: Handle, load: Load) -> dict[str, float]:
    """Handle a stream, and return the time and the calls it made."""
    there = Endpoint(urlsplit(os.environ[ENDPOINT]).port or 0)
    there.take()
    return {**run(handle, events(load)), **there.take()}


def measured(there: Endpoint, name: str) -> list[str]:
    """Measure one technique in a new process, and return the ratios of the medians."""
    technique = TECHNIQUES[name]
    there.answer_after(technique.latency)
    took = json.loads(run_module(there, [MODULE, name]))
    figures = {
        what: [median(one[what] for one in took[how]) for how in ("with", "without")]
        for what in ("processor", "seconds", "calls")
    }
    ratios = [number(lacking / there, 2) for there, lacking in figures.values()]
    return [technique.what, *ratios]


def main() -> None:
    """Measure all of them; or, where a measurement asks for it, one."""
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("one", nargs="?", choices=TECHNIQUES, help=argparse.SUPPRESS)
    if one := parser.parse_args().one:
        without(one)
        return
    head = ["without it, times as it is", "CPU", "seconds", "calls"]
    rows = []
    progress = Progress()
    with endpoint() as there:
        for name, technique in TECHNIQUES.items():
            progress.report_step(technique.what)
            rows.append(measured(there, name))
    sys.stdout.write("\n".join(table(head, rows)) + "\n")


if __name__ == "__main__":
    main()
