"""Measure queries of AdminView and of a boto3 client in turn."""

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
    """Run each query so many times with each client."""
    there.answer_after(0)
    took = json.loads(run_module(there, [MODULE, str(times)]))
    return {
        name: {way: summary(samples) for way, samples in ways.items()}
        for name, ways in took.items()
    }


def summary(samples: list[list[float]]) -> dict[str, float]:
    """Return the median and 99th percentile of the seconds, and the median processor seconds."""
    seconds = sorted(elapsed for elapsed, _ in samples)
    return {
        "p50": median(seconds),
        "p99": seconds[int(len(seconds) * 0.99)],
        "processor": median(processor for _, processor in samples),
    }


def lines(found: dict[str, Any]) -> list[str]:
    """Return the lines of the report."""
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
