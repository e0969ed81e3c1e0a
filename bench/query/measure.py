"""Measure queries of AdminView and of a boto3 client in turn."""

import json
from statistics import median
from typing import Any, Final

from bench.query.model import BOTO3, OURS, OVER_BOTO3, ROWS, SHARDS
from bench.report import number, table
from bench.stub_client import StubClient
from bench.worker_processes import run_module

MODULE: Final = "bench.query.worker"
QUERY_LABELS: Final = {
    "one-partition": "of one partition",
    "eight-shards": f"of {SHARDS} shards, merged",
    "several-attributes": "of an index by several attributes",
}
CLIENT_LABELS: Final = {
    OURS: "AdminView's API",
    OVER_BOTO3: "AdminView over boto3",
    BOTO3: "a boto3 client",
}


def measure(stub: StubClient, times: int) -> dict[str, Any]:
    """Run each query *times* times with each client."""
    stub.set_latency(0)
    samples_by_query = json.loads(run_module(stub, [MODULE, str(times)]))
    return {
        name: {client: summary(samples) for client, samples in samples_by_client.items()}
        for name, samples_by_client in samples_by_query.items()
    }


def summary(samples: list[list[float]]) -> dict[str, float]:
    """Return the median and 99th percentile of the seconds, and the median processor seconds."""
    seconds = sorted(elapsed for elapsed, _ in samples)
    return {
        "p50": median(seconds),
        "p99": seconds[int(len(seconds) * 0.99)],
        "processor": median(processor for _, processor in samples),
    }


def lines(results: dict[str, Any]) -> list[str]:
    """Return the lines of the report."""
    head = [f"a page of {ROWS} rows, in ms", "p50", "p99", "CPU"]
    rows = []
    for name, by_client in results.items():
        for client, label in CLIENT_LABELS.items():
            times = [
                number(1000 * by_client[client][figure], 2)
                for figure in ("p50", "p99", "processor")
            ]
            rows.append([f"{QUERY_LABELS[name]}: {label}", *times])
    return table(head, rows)
