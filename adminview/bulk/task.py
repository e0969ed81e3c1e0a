"""The interface of a task: read a page, plan it, execute the plan."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

from adminview.aws.deadline import Deadline
from adminview.aws.table_scanner import ScanPage
from adminview.bulk.segment import Segment
from adminview.model.row import Attributes


class PageTooLargeError(Exception):
    """The page would take too much memory: read a smaller one."""


class Job(Protocol):
    """The planned work on one page."""

    @property
    def intent(self) -> list[Any]:
        """What to recover if the job is started and not finished, as JSON; empty if nothing."""

    def execute(self, deadline: Deadline) -> Counter[str]:
        """Execute the job and return its counts. Writes nothing after *deadline*."""


class Task(Protocol):
    @property
    def max_items(self) -> int:
        """The most items of a page: they are in memory together, and their intent is one item."""

    def read(
        self, segment: Segment, start: Attributes | None, limit: int, deadline: Deadline
    ) -> ScanPage: ...

    def plan(self, items: Sequence[Attributes], deadline: Deadline) -> Job:
        """Plan the work on a page. Writes nothing.

        Raises a PageTooLargeError if the page must be smaller, but never for a single item.
        """

    def recover_intent(self, intent: Sequence[Any], deadline: Deadline) -> Counter[str]:
        """Recover what an unfinished job left."""
