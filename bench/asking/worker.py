"""Run queries of AdminView and of a boto3 client in turn, in a process of its own.

`python -m bench.asking.worker TIMES` prints, as JSON, the time of each query.
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
from bench.asking.model import BY_HAND, OURS, OVER_BOTO3, QUESTIONS, ROWS, registry
from bench.asking.plain import plain_questions
from bench.ways import TABLE

WARM_UP = 5


def ask_in_turn(times: int) -> dict[str, dict[str, list[list[float]]]]:
    """Run each query with all clients, one after the other, so that noise affects all."""
    client = dynamodb_client()
    direct, over_boto3 = (
        QueryEngine(registry(), ViewReader(rows, TABLE)) for rows in (reader(), Boto3Reader(client))
    )
    plain = plain_questions(client)
    took: dict[str, dict[str, list[list[float]]]] = {}
    for name, parameters in QUESTIONS.items():
        ways: dict[str, Callable[[], Any]] = {
            OURS: partial(_rows, direct, name, parameters),
            OVER_BOTO3: partial(_rows, over_boto3, name, parameters),
            BY_HAND: plain[name],
        }
        for ask in ways.values():
            assert [len(ask()) for _ in range(WARM_UP)] == [ROWS] * WARM_UP
        took[name] = {way: [] for way in ways}
        for _ in range(times):
            for way, ask in ways.items():
                took[name][way].append(timed(ask))
    return took


def _rows(asker: QueryEngine, name: str, parameters: Mapping[str, str]) -> list[ResultRow]:
    return asker.page(name, limit=ROWS, **parameters).rows


def timed(ask: Callable[[], Any]) -> list[float]:
    """Query once, and return the seconds and the processor seconds of all threads."""
    seconds, processor = perf_counter(), process_time()
    ask()
    return [perf_counter() - seconds, process_time() - processor]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(ask_in_turn(int(sys.argv[1]))))
