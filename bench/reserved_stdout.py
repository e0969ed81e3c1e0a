"""Reserve the standard output for results. Imports next to nothing: see bench/cold_start.py."""

import os


def reserve_stdout() -> int:
    """Return a file descriptor for results, and discard what is printed from now on."""
    results = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return results
