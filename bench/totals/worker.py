"""Time the contenders and the sync in turn, in a process of its own.

`python -m bench.totals.worker RECORDS ROUNDS FILE` writes, as JSON, the processor seconds of each
run, per record.
"""

import gc
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any, Final

from adminview.handlers.sync import sync
from adminview.runtime import runtime
from adminview.sync.decode import routes
from bench.model import registry
from bench.streams import Load
from bench.totals.contenders import ADD, CONTENDERS, OURS, TRANSACTION, Handle, Invocation
from bench.totals.counts import FEW, POSITIONS
from bench.totals.items import table_with
from bench.totals.streams import TotalsLoad

GROWTH: Final = 10  # times the records, in ten batches and in one
SLOWER: Final = 5  # the others get fewer records, because they take much longer


def sync_function() -> Handle:
    """Return the handler of the sync; only its views differ from those of a deployment."""
    synced = replace(runtime(), routes=routes(registry(), {}))

    def handle(event: Mapping[str, Any]) -> None:
        response = sync({"Records": event["Records"]}, Invocation(), synced)
        assert response == {"batchItemFailures": []}

    return handle


def runs(records: int) -> Iterator[tuple[str, Handle, TotalsLoad | Load]]:
    """Yield each run: its name, its handler and its load."""
    few = min(FEW, records)
    for positions in POSITIONS:
        ours = CONTENDERS[OURS](table_with(positions))
        yield few_groups(positions), ours, TotalsLoad(records, few)
        yield many_groups(positions), ours, TotalsLoad(records, records)
    ours = CONTENDERS[OURS](table_with(POSITIONS[0]))
    yield NO_GROUPS, ours, TotalsLoad(records, 0)
    yield TEN_BATCHES, ours, TotalsLoad(GROWTH * records, few, records)
    yield ONE_BATCH, ours, TotalsLoad(GROWTH * records, few, GROWTH * records)
    synced = sync_function()
    for rows in SYNC_ROWS:
        yield sync_of(rows), synced, Load(records, fan_out=rows)
    for name in (ADD, TRANSACTION):
        yield name, CONTENDERS[name](table_with(0)), TotalsLoad(-(-records // SLOWER), few)


def few_groups(positions: int) -> str:
    return f"few groups, {positions} positions"


def many_groups(positions: int) -> str:
    return f"a group per record, {positions} positions"


def sync_of(rows: int) -> str:
    return f"sync, rows per item: {rows}"


NO_GROUPS, TEN_BATCHES, ONE_BATCH = "no total changes", "ten batches", "one batch"
SYNC_ROWS: Final = (1, 3)


def in_turn(records: int, rounds: int) -> dict[str, list[float]]:
    """Time each run in turn, so that noise affects all; return processor seconds per record."""
    prepared = [
        (name, handle, list(load.batches()), load.records) for name, handle, load in runs(records)
    ]
    for _, handle, events, _ in prepared:
        for event in events:
            handle(event)  # to warm up
    gc.collect()
    gc.freeze()
    seconds: dict[str, list[float]] = {name: [] for name, *_ in prepared}
    for _ in range(rounds):
        for name, handle, events, count in prepared:
            gc.collect()
            began = process_time()
            for event in events:
                handle(event)
            seconds[name].append((process_time() - began) / count)
    return seconds


if __name__ == "__main__":
    timed = in_turn(int(sys.argv[1]), int(sys.argv[2]))
    Path(sys.argv[3]).write_text(json.dumps(timed))
