"""The first event of a process: the cost of a cold start, and the memory of the largest batch.

`python -m bench.fresh WAY < event.json` prints it as JSON. The clock starts where Lambda begins to
load the function, after its runtime has started Python and read the event. So nothing that an
implementation may need is imported before.
"""

import json
import os
import sys
from time import perf_counter, process_time

from bench.quiet import apart

MEGABYTE = 1024  # in the kilobytes of Linux


def peak_megabytes() -> float:
    """Return the peak memory of this process."""
    from pathlib import Path  # noqa: PLC0415 - see above, like the next
    from resource import RUSAGE_SELF, getrusage  # noqa: PLC0415

    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss may be that of the process which started this one
        text = status.read_text()
        return int(text.partition("VmHWM:")[2].split(maxsplit=1)[0]) / MEGABYTE
    return getrusage(RUSAGE_SELF).ru_maxrss / MEGABYTE


def main() -> None:
    """Load one implementation, and let it handle one event."""
    answers = apart()
    event = json.loads(sys.stdin.buffer.read())
    seconds, processor = perf_counter(), process_time()
    from bench.ways import connect  # noqa: PLC0415 - that is what is measured

    connect(sys.argv[1])(event)
    took = {"seconds": perf_counter() - seconds, "processor": process_time() - processor}
    os.write(answers, json.dumps({**took, "megabytes": peak_megabytes()}).encode())


if __name__ == "__main__":
    main()
