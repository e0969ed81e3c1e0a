"""One worker on one segment: save the intent, execute the page, repeat. Safe to kill at any time.

Before a page is written, its intent is saved in the state of the segment. The next worker recovers
an intent first: an item deleted since then is on no page any more, and only the intent names it.
The start of the next page is saved together with that page's intent.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from json import dumps
from typing import Any

from adminview.aws.deadline import Deadline, awake_or_asleep
from adminview.aws.metered_client import Metered
from adminview.bulk.lease_table import WORK_SECONDS, LeaseTable
from adminview.bulk.segment import Segment, SegmentState
from adminview.bulk.task import Job, JobResult, PageTooLargeError, Task
from adminview.model.errors import SegmentTakenError, ServiceError, TooManyFailuresError

INTENT_LIMIT = 300 * 1024  # bytes; DynamoDB limits the whole item to 400 KB
# A state with these has a small intent. Pages pause while more than half of the first is waiting.
WAITING_LIMIT, FINDINGS_LIMIT = 240 * 1024, 60 * 1024
RECOVER_BATCH = CHECK_BATCH = 25
ALIVE_SECONDS = WORK_SECONDS / 2  # between two renewals of the lease, at most
NAP_SECONDS = 1.0  # at most, to notice a stop soon
RETRY_SECONDS = 0.05  # between two attempts to begin a page while others share the budget
PAGE_RESERVE = 20.0  # no page begins later than this before the end
FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SegmentWorker:
    task: Task
    progress: LeaseTable
    model: str
    meter: Metered
    tolerated: int = 100  # failed items of a run
    stopped: Callable[[], bool] = lambda: False
    watch: Callable[[SegmentState], None] = lambda _: None
    # Of the run, as far as known.
    total: Callable[[SegmentState], Counter[str]] = lambda record: record.counts
    clock: Callable[[], float] = awake_or_asleep  # a lease also expires while the machine sleeps
    sleep: Callable[[float], object] = time.sleep

    def work(self, segment: Segment, *, end: Deadline) -> SegmentState:
        """Work on a segment until it is done, the worker is stopped, or *end* is near.

        Raises a ServiceError if AWS keeps refusing, a SegmentTakenError if another worker has the
        segment, and a TooManyFailuresError. In each case the work can be resumed later.
        """
        began = self.clock()
        record = self.progress.take(segment, self.model, deadline=end.within(ALIVE_SECONDS))
        self.meter.add_debt(record.paid_at - self.progress.now())
        if not record.done:
            record = self._work(SegmentSession(self, record, end, began))
        self._await_budget(end)
        return record

    def _work(self, session: "SegmentSession") -> SegmentState:
        try:
            while session.record.intent and not self._over(session.end) and session.wait():
                pass
            session.recover()
            self._process_pages(session)
        except ServiceError:
            if not session.record.intent:
                with suppress(ServiceError, SegmentTakenError):
                    session.leave()  # no intent to recover: release it at once
            raise
        return session.leave()

    def recover(self, state: SegmentState, *, end: Deadline) -> SegmentState:
        """Recover the intent of another run, whatever its model and segments."""
        began = self.clock()
        record = self.progress.take_over(state, deadline=end.within(ALIVE_SECONDS))
        session = SegmentSession(self, record, end, began)
        session.recover()
        self._await_budget(end)
        return session.record

    def _await_budget(self, end: Deadline) -> None:
        """Wait until the budget covers what was used: the next worker may not know of the debt."""
        while not self._over(end) and (owed := self.meter.wait_seconds) > 0:
            self.sleep(min(owed, NAP_SECONDS))

    def _process_pages(self, session: "SegmentSession") -> None:
        while not session.record.done and not self._over(session.end):
            if session.wait():
                continue
            if session.check_due():
                self.watch(session.record)
            elif session.must_wait:
                session.nap(NAP_SECONDS)
            elif self._process_page(session):
                self.watch(session.record)
                session.check_failures()
            else:
                session.nap(RETRY_SECONDS)

    def _process_page(self, session: "SegmentSession") -> bool:
        """Process the next page; return False if the shared budget does not allow one now."""
        most, before = self.task.max_items, session.record.counts["items"]
        limit = self.meter.begin_page(most)
        if limit:
            try:
                session.turn_page(limit)
            finally:
                self.meter.end_page(most, session.record.counts["items"] - before)
        return bool(limit)

    def _over(self, end: Deadline) -> bool:
        return self.stopped() or end.remaining < PAGE_RESERVE


@dataclass(slots=True)
class SegmentSession:
    """The work on one segment. The stored state may be a page behind, never ahead."""

    worker: SegmentWorker
    record: SegmentState
    end: Deadline
    saved_at: float

    def recover(self) -> None:
        """Recover the intent that an earlier worker left."""
        while self.record.intent:
            now, later = self.record.intent[:RECOVER_BATCH], self.record.intent[RECOVER_BATCH:]
            result = self.worker.task.recover_intent(now, self.work_until)
            self.record = self._after(result, intent=later)
            self.save()

    def turn_page(self, limit: int) -> None:
        task, record = self.worker.task, self.record
        patience = self.end.within(WORK_SECONDS)
        page = task.read(record.segment, record.start, limit, patience)
        try:
            job = task.plan(page, patience)
        except PageTooLargeError:
            return self.turn_page(max(1, len(page.items) // 2))
        if limit > 1 and len(dumps(job.intent)) > INTENT_LIMIT:
            return self.turn_page(limit // 2)
        result = self._execute(job)
        if limit > 1 and len(dumps([record.waiting, result.later])) > WAITING_LIMIT:
            return self.turn_page(limit // 2)  # such a job writes nothing
        result.counts["items"] += page.scanned
        self.record = self._after(result, intent=[], start=page.last, last_read=page.last is None)
        return self.stay_alive()

    def check_due(self) -> bool:
        """Check some of the entries that are due; return False if none is."""
        task, waiting, now = self.worker.task, self.record.waiting, self.worker.progress.now()
        due = [entry for entry in waiting if entry[0] <= now][:CHECK_BATCH]
        if due:
            job = task.plan_check([entry for _, entry in due], self.end.within(WORK_SECONDS))
            rest = [entry for entry in waiting if entry not in due]
            self.record = self._after(job.checked, waiting=rest, intent=job.intent)
            self.record = self._after(self._execute(job), intent=[])
            self.stay_alive()
        return bool(due)

    @property
    def must_wait(self) -> bool:
        """Whether no page may be read: none is left, it is too early, or too much is waiting."""
        record, worker = self.record, self.worker
        if worker.task.not_before > worker.progress.now():
            return True
        return record.last_read or len(dumps(record.waiting)) > WAITING_LIMIT / 2

    def nap(self, seconds: float) -> None:
        self.worker.sleep(seconds)
        self.stay_alive()

    def _execute(self, job: Job) -> JobResult:
        """Execute a job, after its intent is saved."""
        if job.intent:
            self.record = replace(self.record, intent=job.intent)
            self.save()
        else:
            self.stay_alive()
        return job.execute(self.work_until)

    def wait(self) -> bool:
        """Wait briefly if the budget is overdrawn; return whether it was."""
        owed = self.worker.meter.wait_seconds
        if owed > 0:
            self.worker.sleep(min(owed, NAP_SECONDS))
            self.stay_alive()
        return owed > 0

    def check_failures(self) -> None:
        """Raise a TooManyFailuresError, with the segment released, if too many items failed."""
        worker, record = self.worker, self.record
        try:
            check_failures(record.segment.run, worker.total(record), worker.tolerated)
        except TooManyFailuresError:
            self.leave()
            raise

    def leave(self) -> SegmentState:
        """Save the state and release the segment."""
        self.save(keep=False)
        return self.record

    def save(self, *, keep: bool = True) -> None:
        """Save the state and renew the lease, or release it unless *keep*."""
        now, progress, owed = (
            self.worker.clock(),
            self.worker.progress,
            self.worker.meter.wait_seconds,
        )
        record = replace(self.record, paid_at=progress.now() + owed if owed else 0.0)
        self.record = progress.save(record, deadline=self.end.within(WORK_SECONDS), keep=keep)
        self.saved_at = now

    def stay_alive(self) -> None:
        """Renew the lease if it is due."""
        if self.worker.clock() - self.saved_at > ALIVE_SECONDS:
            self.save()

    @property
    def work_until(self) -> Deadline:
        """No write may begin later: another worker could have taken over."""
        lease = Deadline(self.saved_at + WORK_SECONDS, self.worker.clock)
        return self.end.or_sooner(lease)

    def _after(self, result: JobResult, **changes: Any) -> SegmentState:
        """Return the state with the result of a job and *changes*."""
        record = replace(self.record, **changes)
        waiting = [*record.waiting, *result.later]
        return replace(
            record,
            counts=record.counts + result.counts,
            waiting=waiting,
            findings=first_within(FINDINGS_LIMIT, record.findings, result.findings),
            done=record.last_read and not waiting and not record.intent,
        )


def first_within(size: int, *lists: Sequence[Any]) -> list[Any]:
    """Return the first entries of all lists whose JSON has up to *size* bytes together."""
    kept: list[Any] = []
    for entry in chain.from_iterable(lists):
        size -= len(dumps(entry)) + 2
        if size < 0:
            break
        kept.append(entry)
    return kept


def check_failures(run: str, counts: Counter[str], tolerated: int | None) -> None:
    """Raise a TooManyFailuresError if more items failed than are tolerated."""
    if too_many(counts, tolerated):
        msg = (
            f"{counts[FAILED]} items failed in {run}, more than the tolerated {tolerated}: "
            "fix the cause (the run then starts over), or tolerate more"
        )
        raise TooManyFailuresError(msg)


def too_many(counts: Counter[str], tolerated: int | None) -> bool:
    """Return whether more items failed than are tolerated; None tolerates any number."""
    return tolerated is not None and counts[FAILED] > tolerated
