"""Run one contender in a process of its own.

`python -m bench.worker CONTENDER` reads a load, as JSON, from each line of its standard input, and
prints the time that the contender needs for it.
"""

import gc
import json
import os
import sys
from functools import lru_cache
from time import perf_counter, process_time

from bench.contenders import Event, Handler, connect
from bench.reserved_stdout import reserve_stdout
from bench.streams import Load


@lru_cache(maxsize=3)  # the loads that alternate in one part
def events(load: Load) -> list[Event]:
    """Build a stream once, before it is timed, and exclude it from garbage collection."""
    batches = list(load.batches())
    gc.collect()
    gc.freeze()
    return batches


def run(handle: Handler, stream: list[Event]) -> dict[str, float]:
    """Handle a stream, and return the seconds and the processor seconds of all threads."""
    gc.collect()
    seconds, processor = perf_counter(), process_time()
    for event in stream:
        handle(event)
    return {"seconds": perf_counter() - seconds, "processor": process_time() - processor}


def main() -> None:
    """Run one contender until the standard input ends."""
    output = reserve_stdout()
    handle = connect(sys.argv[1])
    for line in sys.stdin:
        timing = run(handle, events(Load(**json.loads(line))))
        os.write(output, f"{json.dumps(timing)}\n".encode())


if __name__ == "__main__":
    main()
