"""Work cut into calls, and calls made at once."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Executor, ThreadPoolExecutor, wait
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")

MAX_CONCURRENCY = 8


def batched(jobs: Sequence[Job], size: int) -> Iterator[Sequence[Job]]:
    """Cut *jobs* into pieces of at most *size*."""
    for start in range(0, len(jobs), size):
        yield jobs[start : start + size]


def crew() -> Executor:
    """Keep threads for work that comes again and again; they start with the first and rest."""
    return ThreadPoolExecutor(MAX_CONCURRENCY)


def map_concurrently(
    work: Callable[[Job], Result], jobs: Sequence[Job], by: Executor | None = None
) -> list[Result]:
    """Do all *jobs*, some at once; return when none is under way any more.

    When one fails, those that have not begun are left out, and its error is raised.
    """
    if len(jobs) <= 1:
        return [work(job) for job in jobs]
    if by is None:
        with ThreadPoolExecutor(min(MAX_CONCURRENCY, len(jobs))) as pool:
            return map_concurrently(work, jobs, pool)
    futures = [by.submit(work, job) for job in jobs]
    try:
        wait(futures, return_when=FIRST_EXCEPTION)
    finally:
        for future in futures:
            future.cancel()
        wait(futures)
    return [future.result() for future in futures]
