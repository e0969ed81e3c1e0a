"""The calls and write units of each contender, counted without timing anything."""

from collections.abc import Mapping, Sequence
from time import time
from typing import Any, Final

from adminview.aws.call_errors import CallErrors
from adminview.aws.deadline import Deadline
from adminview.aws.totals_table import TotalsTable
from adminview.handlers.totals import TotalsRuntime, add_up
from bench.totals.contenders import (
    ADD,
    OURS,
    TRANSACTION,
    Invocation,
    Request,
    add_requests,
    transactions,
)
from bench.totals.items import before, table_with, units, updated
from bench.totals.streams import TotalsLoad

POSITIONS: Final = (1, 30, 200)  # of an item: one for each shard of the last 26 hours
FEW: Final = 20  # groups


class Recorder:
    """Takes the calls of the totals function, and returns the items that they lead to."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def send(self, requests: Sequence[Request], _: Deadline) -> list[Any]:
        self.requests += requests
        return [{"Attributes": updated(before(request), request)} for request in requests]


class _Silent:
    def invoked(self, request_id: str) -> None: ...

    def counted(self, counts: Mapping[str, Any], errors: CallErrors, /) -> None: ...


def our_requests(load: TotalsLoad, positions: int) -> list[Request]:
    """Return the calls that the totals function makes for a stream."""
    recorder = Recorder()
    runtime = TotalsRuntime(TotalsTable(recorder, table_with(positions), time), _Silent())
    for event in load.batches():
        assert not add_up(event, Invocation(), runtime)["batchItemFailures"]
    return recorder.requests


def requests_of(contender: str, load: TotalsLoad, positions: int) -> list[Request]:
    """Return the calls that a contender makes for a stream; only ours needs positions."""
    if contender == OURS:
        return our_requests(load, positions)
    make = {ADD: add_requests, TRANSACTION: transactions}[contender]
    return [request for event in load.batches() for request in make(event, table_with(0))]


def count(records: int) -> list[dict[str, Any]]:
    """Count one batch of *records* row changes, in few groups and in as many as records."""
    counts = []
    for groups in (min(FEW, records), records):
        for ranked in (False, True):
            load = TotalsLoad(records, groups, records, ranked)
            for contender in (OURS, ADD, TRANSACTION):
                for positions in POSITIONS if contender == OURS else (0,):
                    requests = requests_of(contender, load, positions)
                    counts.append(
                        {
                            "contender": contender,
                            "groups": groups,
                            "ranked": ranked,
                            "positions": positions,
                            "calls": len(requests),
                            "units": units(requests).total,
                        }
                    )
    return counts
