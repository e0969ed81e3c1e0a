"""What a task is: how it reads a page, and what it does with one."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

from adminview.aws.deadline import Deadline
from adminview.aws.table_scanner import ScanPage
from adminview.bulk.segment import Segment
from adminview.model.row import Attributes


class PageTooLargeError(Exception):
    """A page would take too much memory: read a smaller one."""


class Job(Protocol):
    """What is to be done with one page."""

    @property
    def note(self) -> list[Any]:
        """What must be put right if this job is begun and not ended, as JSON; empty if nothing."""

    def do(self, deadline: Deadline) -> Counter[str]:
        """Do it, and count what was done. Nothing is written after *until*."""


class Task(Protocol):
    """Work on a whole table."""

    @property
    def most(self) -> int:
        """How many items a page may have: they are held together, and their note is one item."""

    def read(
        self, segment: Segment, start: Attributes | None, limit: int, deadline: Deadline
    ) -> ScanPage:
        """Read a page of a segment."""

    def plan(self, items: Sequence[Attributes], deadline: Deadline) -> Job:
        """Work out what is to be done with a page, and write nothing.

        Raises a PageTooLargeError if the page must be smaller; never for a single item.
        """

    def recover_intent(self, note: Sequence[Any], deadline: Deadline) -> Counter[str]:
        """Put right what a job that was not ended has left."""
