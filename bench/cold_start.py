"""The first event of a process: the cost of a cold start, and the memory of the largest batch.

`python -m bench.cold_start CONTENDER < event.json` prints both as JSON. The clock starts where
Lambda begins to load the function, after its runtime has started Python and read the event. So
nothing that a contender may need is imported before.
"""

import json
import os
import sys
from time import perf_counter, process_time

from bench.reserved_stdout import reserve_stdout

MEGABYTE = 1024  # in the kilobytes of Linux


def peak_megabytes() -> float:
    """Return the peak memory of this process."""
    from pathlib import Path  # noqa: PLC0415 - see the module docstring
    from resource import RUSAGE_SELF, getrusage  # noqa: PLC0415

    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss can include the parent process
        text = status.read_text()
        return int(text.partition("VmHWM:")[2].split(maxsplit=1)[0]) / MEGABYTE
    return getrusage(RUSAGE_SELF).ru_maxrss / MEGABYTE


def main() -> None:
    """Load one contender, and let it handle one event."""
    output = reserve_stdout()
    event = json.loads(sys.stdin.buffer.read())
    seconds, processor = perf_counter(), process_time()
    from bench.contenders import connect  # noqa: PLC0415 - the import is part of the measurement

    connect(sys.argv[1])(event)
    timing = {"seconds": perf_counter() - seconds, "processor": process_time() - processor}
    os.write(output, json.dumps({**timing, "megabytes": peak_megabytes()}).encode())


if __name__ == "__main__":
    main()
