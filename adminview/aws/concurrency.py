"""Batches and concurrent calls."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Executor, ThreadPoolExecutor, wait
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")

MAX_CONCURRENCY = 8


def batched(jobs: Sequence[Job], size: int) -> Iterator[Sequence[Job]]:
    """Split *jobs* into batches of at most *size*."""
    for start in range(0, len(jobs), size):
        yield jobs[start : start + size]


def thread_pool() -> Executor:
    return ThreadPoolExecutor(MAX_CONCURRENCY)


def map_concurrently(
    work: Callable[[Job], Result], jobs: Sequence[Job], pool: Executor | None = None
) -> list[Result]:
    """Return the results of all *jobs*, run concurrently.

    When one fails, the others that have not started are cancelled, and its error is raised. No job
    is running when this returns or raises.
    """
    if len(jobs) <= 1:
        return [work(job) for job in jobs]
    if pool is None:
        with ThreadPoolExecutor(min(MAX_CONCURRENCY, len(jobs))) as own_pool:
            return map_concurrently(work, jobs, own_pool)
    futures = [pool.submit(work, job) for job in jobs]
    try:
        wait(futures, return_when=FIRST_EXCEPTION)
    finally:
        for future in futures:
            future.cancel()
        wait(futures)
    for future in futures:
        # A job may be cancelled before the one that failed: raise the error, not the cancellation.
        if not future.cancelled():
            future.result()
    return [future.result() for future in futures]
