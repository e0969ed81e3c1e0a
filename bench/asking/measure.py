"""Ask in turn, ours and by hand, and tell how long an answer takes."""

import json
from statistics import median
from typing import Any, Final

from bench.asking.model import BY_HAND, OURS, OVER_BOTO3, ROWS, SHARDS
from bench.crew import run_module
from bench.endpoint import Endpoint
from bench.report import number, table

MODULE: Final = "bench.asking.worker"
TOLD: Final = {
    "one-partition": "of one partition",
    "eight-shards": f"of {SHARDS} shards, merged",
    "several-attributes": "of an index by several attributes",
}


def measure(there: Endpoint, times: int) -> dict[str, Any]:
    """Ask each question so many times in both ways."""
    there.answer_after(0)
    took = json.loads(run_module(there, [MODULE, str(times)]))
    return {
        name: {way: summary(samples) for way, samples in ways.items()}
        for name, ways in took.items()
    }


def summary(samples: list[list[float]]) -> dict[str, float]:
    """Say how long one asking takes: as a rule, at the worst of a hundred, and of the processor."""
    seconds = sorted(one for one, _ in samples)
    return {
        "p50": median(seconds),
        "p99": seconds[int(len(seconds) * 0.99)],
        "processor": median(one for _, one in samples),
    }


def lines(found: dict[str, Any]) -> list[str]:
    """Tell what was measured."""
    head = [f"a page of {ROWS} rows, in ms", "p50", "p99", "CPU"]
    rows = []
    for name in found:
        for way, which in (
            (OURS, "AdminView's API"),
            (OVER_BOTO3, "AdminView over boto3"),
            (BY_HAND, "a boto3 client"),
        ):
            took = [
                number(1000 * found[name][way][what], 2) for what in ("p50", "p99", "processor")
            ]
            rows.append([f"{TOLD[name]}: {which}", *took])
    return table(head, rows)
