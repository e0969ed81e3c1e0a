"""Measure the sync function: `python -m bench` prints what docs/scale.md reckons with."""

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from statistics import median
from time import perf_counter, process_time
from typing import Any, Final

import boto3

from bench.endpoint import Endpoint, endpoint
from bench.model import registry
from bench.streams import NEUTRAL, ORDINARY, Load
from lambdas.aws.clients import CLIENT
from lambdas.aws.runtime import Clients, Runtime, make_runtime
from lambdas.aws.settings import Settings
from lambdas.pipeline.letter import Letter
from lambdas.pipeline.tally import Tally
from lambdas.sync import StreamEvent, sync

ROUNDS: Final = 5
LOADS: Final = {
    "1 row per item": replace(NEUTRAL, fan_out=1),
    "3 rows per item": NEUTRAL,
    "8 rows per item": replace(NEUTRAL, fan_out=8),
    "3 rows, ordinary": ORDINARY,
}
SECONDS: Final = 100_000  # that an invocation is told to have: more than enough


class _Invocation:
    aws_request_id = "bench"

    def get_remaining_time_in_millis(self) -> int:
        return SECONDS


class _Silence:
    """Hears what operators are told, and says nothing: a terminal would cost more than the work."""

    def invoked(self, context: Any) -> None:
        """Hear of an invocation."""

    def synced(self, tally: Tally, letters: Sequence[Letter], trouble: Collection[str]) -> None:
        """Hear what a batch came to, which must be all of it."""
        assert (tally.returned, [*letters], [*trouble]) == (0, [], [])


@dataclass(frozen=True, slots=True)
class Measured:
    """What one load took, per 1,000 records."""

    seconds: float
    processor: float
    calls: float


def runtime(there: Endpoint) -> Runtime:
    """Connect the sync to the stub."""
    known: dict[str, Any] = {
        "region_name": "us-east-1",
        "endpoint_url": there.url,
        "aws_access_key_id": "bench",
        "aws_secret_access_key": "bench",
        "config": CLIENT,
    }
    clients = Clients(boto3.client("dynamodb", **known), boto3.client("sqs", **known))
    model = registry()
    settings = Settings("AdminViewTable", f"{there.url}/queue", {}, model.fingerprint)
    return make_runtime(model, settings, clients, _Silence())


def measure(load: Load, there: Endpoint, with_: Runtime) -> Measured:
    """Sync one stream, and tell what it took."""
    events: list[Any] = list(load.batches())
    there.take()
    wall, processor = perf_counter(), process_time()
    for event in events:
        _sync(event, with_)
    wall, processor = perf_counter() - wall, process_time() - processor
    thousands = load.records / 1000
    return Measured(wall / thousands, processor / thousands, there.take()["calls"] / thousands)


def _sync(event: StreamEvent, with_: Runtime) -> None:
    assert sync(event, _Invocation(), with_) == {"batchItemFailures": []}


def main() -> None:
    """Measure every load in turn, several times, and print the medians."""
    write = sys.stdout.write
    write("per 1,000 records      processor s   seconds   with 8 ms a call   calls\n")
    with endpoint() as there:
        with_ = runtime(there)
        found: dict[tuple[str, int], list[Measured]] = {}
        for _ in range(ROUNDS):
            for name, load in LOADS.items():
                for latency in (0, 8):
                    there.answer_after(latency)
                    found.setdefault((name, latency), []).append(measure(load, there, with_))
    for name in LOADS:
        at_once, late = found[name, 0], found[name, 8]
        write(
            f"{name:<20} {median(one.processor for one in at_once):>13.2f} "
            f"{median(one.seconds for one in at_once):>9.2f} "
            f"{median(one.seconds for one in late):>18.2f} {at_once[0].calls:>7.0f}\n"
        )


if __name__ == "__main__":
    main()
