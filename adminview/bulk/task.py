"""The interface of a task: read a page, plan it, execute the plan."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from adminview.aws.deadline import Deadline
from adminview.aws.table_scanner import ScanPage
from adminview.bulk.segment import Segment
from adminview.model.row import Attributes


class PageTooLargeError(Exception):
    """The page would take too much memory: read a smaller one."""


@dataclass(frozen=True, slots=True)
class JobResult:
    """What a job did and found, as JSON."""

    counts: Counter[str]
    # What must be checked again: each entry with the time before which it must not be.
    later: list[Any] = field(default_factory=list)
    findings: list[Any] = field(default_factory=list)


class Job(Protocol):
    """The planned work on one page."""

    @property
    def intent(self) -> list[Any]:
        """What to recover if the job is started and not finished, as JSON; empty if nothing."""

    def execute(self, deadline: Deadline) -> JobResult:
        """Execute the job and return its result. Writes nothing after *deadline*."""


class CheckJob(Job, Protocol):
    """The work that follows from a check."""

    @property
    def checked(self) -> JobResult:
        """The result for the entries that are not in the intent."""


class Task(Protocol):
    @property
    def max_items(self) -> int:
        """The most items of a page: they are in memory together, and their intent is one item."""

    @property
    def not_before(self) -> float:
        """When the first page may be read, in seconds since 1970."""
        return 0.0

    def read(
        self, segment: Segment, start: Attributes | None, limit: int, deadline: Deadline
    ) -> ScanPage: ...

    def plan(self, page: ScanPage, deadline: Deadline) -> Job:
        """Plan the work on a page. Writes nothing.

        Raises a PageTooLargeError if the page must be smaller, but never for a single item.
        """

    def recover_intent(self, intent: Sequence[Any], deadline: Deadline) -> JobResult:
        """Recover what an unfinished job left."""

    def plan_check(self, entries: Sequence[Any], deadline: Deadline) -> CheckJob:  # noqa: ARG002
        """Check what jobs left for later, and plan the work that follows. Writes nothing."""
        msg = "the task leaves nothing for later"
        raise AssertionError(msg)
