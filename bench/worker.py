"""Run one implementation in a process of its own.

`python -m bench.worker WAY` reads a load, as JSON, from each line of its standard input, and
prints the time it took.
"""

import gc
import json
import os
import sys
from functools import lru_cache
from time import perf_counter, process_time

from bench.quiet import apart
from bench.streams import Load
from bench.ways import Event, Handle, connect


@lru_cache(maxsize=3)  # what is measured in turn
def events(load: Load) -> list[Event]:
    """Build a stream once, before it is timed, and exclude it from garbage collection."""
    batches = list(load.batches())
    gc.collect()
    gc.freeze()
    return batches


def run(handle: Handle, stream: list[Event]) -> dict[str, float]:
    """Handle a stream, and return the seconds and the processor seconds of all threads."""
    gc.collect()
    seconds, processor = perf_counter(), process_time()
    for event in stream:
        handle(event)
    return {"seconds": perf_counter() - seconds, "processor": process_time() - processor}


def main() -> None:
    """Run one implementation until the standard input ends."""
    answers = apart()
    handle = connect(sys.argv[1])
    for line in sys.stdin:
        took = run(handle, events(Load(**json.loads(line))))
        os.write(answers, f"{json.dumps(took)}\n".encode())


if __name__ == "__main__":
    main()
