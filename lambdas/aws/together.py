"""Work cut into calls, and calls made at once."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")

AT_ONCE = 8


def chunks(jobs: Sequence[Job], size: int) -> Iterator[Sequence[Job]]:
    """Cut *jobs* into pieces of at most *size*."""
    for start in range(0, len(jobs), size):
        yield jobs[start : start + size]


def together(work: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
    """Do all *jobs*, some at once; return when none is under way any more."""
    if len(jobs) <= 1:
        return [work(job) for job in jobs]
    with ThreadPoolExecutor(min(AT_ONCE, len(jobs))) as pool:
        return list(pool.map(work, jobs))
