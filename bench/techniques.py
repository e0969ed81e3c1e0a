"""`python -m bench.techniques`: measure what each technique saves by switching it off.

A process of its own measures the sync with and without one technique: the same stream, alternating
round by round. A run takes about a minute. On a busy machine, the figures mean little.
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

from bench.contenders import Handler, connect
from bench.measure import Progress
from bench.plan import OURS
from bench.report import number, table
from bench.reserved_stdout import reserve_stdout
from bench.streams import NEUTRAL, ORDINARY, Load
from bench.stub_client import StubClient, running_stub
from bench.worker import events, run
from bench.worker_processes import run_module

ROUNDS: Final = 5
LARGE: Final = Load(10_000, batch=10_000)  # larger than any batch that Lambda delivers
MODULE: Final = "bench.techniques"
ENDPOINT: Final = "AWS_ENDPOINT_URL_DYNAMODB"


@dataclass(frozen=True, slots=True)
class Technique:
    """A technique, and how to switch it off."""

    title: str
    without: Callable[[], AbstractContextManager[Any]]
    load: Load = NEUTRAL
    latency: int = 0


def use_standard_json() -> AbstractContextManager[Any]:
    """Encode and decode JSON with the standard library."""
    from adminview.model import json_codec  # noqa: PLC0415 - imported only if it is measured

    return patch.object(json_codec, "orjson", None)


def derive_old_images_again() -> AbstractContextManager[Any]:
    """Derive the old image of each change, even if it is the new image of the previous change."""
    from adminview.sync import plan  # noqa: PLC0415

    def derive_before(batch: Any, change: Any) -> Any:
        batch.derived.clear()
        return original(batch, change)

    original = plan._derive_before  # noqa: SLF001
    return patch.object(plan, "_derive_before", derive_before)


def keep_all_rows() -> AbstractContextManager[Any]:
    """Keep the rows of every item, as if each changed again in the batch."""
    from adminview.sync import plan  # noqa: PLC0415

    add = plan._add  # noqa: SLF001

    def add_and_keep(batch: Any, position: int, change: Any, **_: bool) -> Any:
        return add(batch, position, change, again=True)

    return patch.object(plan, "_add", add_and_keep)


def decode_values() -> AbstractContextManager[Any]:
    """Deserialise every value of a row and serialise it again."""
    from adminview.model.item import Item  # noqa: PLC0415

    def pick(item: Item, *names: str) -> dict[str, Any]:
        return {name: _to_python(item[name]) for name in names if name in item}

    return patch.object(Item, "pick", pick)


def _to_python(value: Any) -> Any:
    """Deserialise a value and all values in it."""
    if isinstance(value, Mapping):
        return {name: _to_python(value[name]) for name in value}
    return [_to_python(element) for element in value] if isinstance(value, list) else value


def write_one_row_per_call() -> AbstractContextManager[Any]:
    """Write each row in a call of its own."""
    from adminview.aws import view_table  # noqa: PLC0415

    return patch.object(view_table, "BATCH_LIMIT", 1)


def write_unchanged_rows() -> AbstractContextManager[Any]:
    """Write the rows that did not change, too."""
    from adminview.sync import plan  # noqa: PLC0415

    def all_rows(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> dict[Any, Any]:
        return {**dict.fromkeys(key for key in before if key not in after), **after}

    return patch.object(plan, "diff", all_rows)


def sign_with_botocore() -> AbstractContextManager[Any]:
    """Sign requests with botocore."""
    from botocore.auth import SigV4Auth  # noqa: PLC0415
    from botocore.awsrequest import AWSRequest  # noqa: PLC0415
    from botocore.credentials import Credentials  # noqa: PLC0415

    from adminview.aws.transport import http_client, sigv4  # noqa: PLC0415

    def sign(service: Any, target: str, body: bytes, keys: Any) -> dict[str, str]:
        headers = {"Content-Type": sigv4.CONTENT_TYPE, "X-Amz-Target": target}
        request: Any = AWSRequest("POST", f"http://{service.host}/", headers, body)
        credentials = Credentials(keys.access_key, keys.secret_key, keys.token)
        SigV4Auth(credentials, service.name, service.region).add_auth(request)
        return dict(request.headers.items())

    return patch.object(http_client, "signed_headers", sign)


def use_threads() -> AbstractContextManager[Any]:
    """Make each call on a thread, eight concurrently, as with a boto3 client."""
    from adminview.aws.concurrency import map_concurrently, thread_pool  # noqa: PLC0415
    from adminview.aws.transport.http_client import HttpClient  # noqa: PLC0415

    threads = thread_pool()

    def calls(client: HttpClient, operation: str, bodies: Iterable[bytes], *_: object) -> list[Any]:
        return map_concurrently(lambda body: client.call(operation, body), [*bodies], threads)

    return patch.object(HttpClient, "calls", calls)


def send_calls_in_sequence() -> AbstractContextManager[Any]:
    """Send each call after the response to the previous one."""
    from adminview.aws.transport import http_client  # noqa: PLC0415

    return patch.object(http_client, "MAX_CONCURRENCY", 1)


def read_with_http_client() -> AbstractContextManager[Any]:
    """Read responses with http.client of the standard library."""
    from http.client import HTTPResponse  # noqa: PLC0415
    from io import BufferedReader, RawIOBase  # noqa: PLC0415

    from adminview.aws.transport.connection import HttpConnection, HttpResponse  # noqa: PLC0415

    class ReceivedBytes(RawIOBase):
        """The bytes that a connection has received, then those that it receives."""

        def __init__(self, connection: HttpConnection) -> None:
            self._connection: Any = connection

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            arrived = self._connection._arrived or self._connection._read()  # noqa: SLF001
            read = arrived[: len(buffer)]
            self._connection._arrived = arrived[len(read) :]  # noqa: SLF001
            buffer[: len(read)] = read
            return len(read)

        def makefile(self, _: str) -> BufferedReader:
            return BufferedReader(self)

    def receive(connection: HttpConnection) -> HttpResponse:
        response = HTTPResponse(cast("Any", ReceivedBytes(connection)), method="POST")
        response.begin()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return HttpResponse(response.status, headers, response.read())

    return patch.object(HttpConnection, "receive", receive)


def use_boto3() -> AbstractContextManager[Any]:
    """Make the calls with a boto3 client."""
    from adminview.aws.settings import PLAIN_CLIENT  # noqa: PLC0415

    return patch.dict(os.environ, {PLAIN_CLIENT: "true"})


TECHNIQUES: Final = {
    "batches": Technique("25 rows per call", write_one_row_per_call),
    "boto3": Technique("the direct HTTP client instead of boto3", use_boto3),
    "signer": Technique("a signer of 40 lines instead of botocore's", sign_with_botocore),
    "orjson": Technique("orjson instead of the standard json module", use_standard_json),
    "wire": Technique("values are not deserialised", decode_values),
    "http": Technique(
        "a response parser of 40 lines instead of http.client", read_with_http_client
    ),
    "threads": Technique("concurrent calls without threads", use_threads),
    "at-once": Technique("24 concurrent calls, at 8 ms", send_calls_in_sequence, latency=8),
    "by-eight": Technique("the same instead of eight threads", use_threads, latency=8),
    "kept": Technique("rows released early, 10,000 records in a batch", keep_all_rows, LARGE),
    "derived": Technique(
        "each image derived once, ordinary stream", derive_old_images_again, ORDINARY
    ),
    "unchanged": Technique(
        "only changed rows written, ordinary stream", write_unchanged_rows, ORDINARY
    ),
}


def measure_in_turn(name: str) -> None:
    """Measure with and without one technique in turn, and print the samples as JSON."""
    output = reserve_stdout()
    technique = TECHNIQUES[name]
    handler = connect(OURS)
    with technique.without():
        handler_without = connect(OURS)
    samples: dict[str, list[dict[str, float]]] = {"with": [], "without": []}
    for round_number in range(ROUNDS + 1):
        sample = time_and_calls(handler, technique.load)
        with technique.without():
            sample_without = time_and_calls(handler_without, technique.load)
        if round_number:  # the first round warms up
            samples["with"].append(sample)
            samples["without"].append(sample_without)
    os.write(output, json.dumps(samples).encode())


def time_and_calls(handler: Handler, load: Load) -> dict[str, float]:
    """Handle a stream, and return its time and the number of its calls."""
    stub = StubClient(urlsplit(os.environ[ENDPOINT]).port or 0)
    stub.take_counts()
    return {**run(handler, events(load)), **stub.take_counts()}


def measure(stub: StubClient, name: str) -> list[str]:
    """Measure one technique in a new process, and return the ratios of the medians."""
    technique = TECHNIQUES[name]
    stub.set_latency(technique.latency)
    samples = json.loads(run_module(stub, [MODULE, name]))
    medians = {
        figure: [median(sample[figure] for sample in samples[key]) for key in ("with", "without")]
        for figure in ("processor", "seconds", "calls")
    }
    ratios = [number(off / on, 2) for on, off in medians.values()]
    return [technique.title, *ratios]


def main() -> None:
    """Measure all techniques; or, in the process of one technique, that one."""
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("technique", nargs="?", choices=TECHNIQUES, help=argparse.SUPPRESS)
    if name := parser.parse_args().technique:
        measure_in_turn(name)
        return
    head = ["without it, relative to with it", "CPU", "seconds", "calls"]
    rows = []
    progress = Progress()
    with running_stub() as stub:
        for name, technique in TECHNIQUES.items():
            progress.report_step(technique.title)
            rows.append(measure(stub, name))
    sys.stdout.write("\n".join(table(head, rows)) + "\n")


if __name__ == "__main__":
    main()
