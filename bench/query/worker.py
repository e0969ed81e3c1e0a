"""Run queries of AdminView and of a boto3 client in turn, in a process of its own.

`python -m bench.query.worker TIMES` prints the time of each query as JSON.
"""

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from time import perf_counter, process_time
from typing import Any

from adminview.aws.boto3_clients import dynamodb_client
from adminview.aws.view_reader import Boto3Reader, ViewReader
from adminview.handlers.api import reader
from adminview.query.engine import QueryEngine, ResultRow
from bench.contenders import TABLE
from bench.query.boto3_queries import boto3_queries
from bench.query.model import BOTO3, OURS, OVER_BOTO3, QUERIES, ROWS, registry

WARM_UP = 5


def time_queries(times: int) -> dict[str, dict[str, list[list[float]]]]:
    """Run each query with all clients, one after the other, so that noise affects all."""
    boto3_client = dynamodb_client()
    direct, over_boto3 = (
        QueryEngine(registry(), ViewReader(rows, TABLE))
        for rows in (reader(), Boto3Reader(boto3_client))
    )
    by_boto3 = boto3_queries(boto3_client)
    samples: dict[str, dict[str, list[list[float]]]] = {}
    for name, parameters in QUERIES.items():
        clients: dict[str, Callable[[], Any]] = {
            OURS: partial(_rows, direct, name, parameters),
            OVER_BOTO3: partial(_rows, over_boto3, name, parameters),
            BOTO3: by_boto3[name],
        }
        for run_query in clients.values():
            assert [len(run_query()) for _ in range(WARM_UP)] == [ROWS] * WARM_UP
        samples[name] = {client: [] for client in clients}
        for _ in range(times):
            for client, run_query in clients.items():
                samples[name][client].append(timed(run_query))
    return samples


def _rows(engine: QueryEngine, name: str, parameters: Mapping[str, str]) -> list[ResultRow]:
    return engine.page(name, limit=ROWS, **parameters).rows


def timed(run_query: Callable[[], Any]) -> list[float]:
    """Query once, and return the seconds and the processor seconds of all threads."""
    seconds, processor = perf_counter(), process_time()
    run_query()
    return [perf_counter() - seconds, process_time() - processor]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(time_queries(int(sys.argv[1]))))
