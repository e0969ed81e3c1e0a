"""One worker on one segment: save the intent, execute the page, repeat. Safe to kill at any time.

Before a page is written, its intent is saved in the state of the segment. The next worker recovers
an intent first: an item deleted since then is on no page any more, and only the intent names it.
The start of the next page is saved together with that page's intent.
"""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from json import dumps

from adminview.aws.deadline import Deadline, awake_or_asleep
from adminview.aws.metered_client import Metered
from adminview.bulk.lease_table import WORK_SECONDS, LeaseTable
from adminview.bulk.segment import Segment, SegmentState
from adminview.bulk.task import PageTooLargeError, Task
from adminview.model.errors import SegmentTakenError, ServiceError, TooManyFailuresError

INTENT_LIMIT = 300 * 1024  # bytes; DynamoDB limits the whole item to 400 KB
RECOVER_BATCH = 25
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
        self._rest(end)
        return record

    def _work(self, session: "SegmentSession") -> SegmentState:
        try:
            while session.record.intent and not self._over(session.end) and session.wait():
                pass
            session.recover()
            self._turn_pages(session)
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
        self._rest(end)
        return session.record

    def _rest(self, end: Deadline) -> None:
        """Wait until the budget covers what was used: the next worker may not know of the debt."""
        while not self._over(end) and (owed := self.meter.wait_seconds) > 0:
            self.sleep(min(owed, NAP_SECONDS))

    def _turn_pages(self, session: "SegmentSession") -> None:
        while not session.record.done and not self._over(session.end):
            if session.wait():
                continue
            if not self._turn_page(session):
                self.sleep(RETRY_SECONDS)
                session.stay_alive()
                continue
            self.watch(session.record)
            session.check_failures()

    def _turn_page(self, session: "SegmentSession") -> bool:
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
            counts = self.worker.task.recover_intent(now, self.work_until)
            self.record = self._counted(counts, intent=later)
            self.save()

    def turn_page(self, limit: int) -> None:
        task, record = self.worker.task, self.record
        patience = self.end.within(WORK_SECONDS)
        page = task.read(record.segment, record.start, limit, patience)
        try:
            job = task.plan(page.items, patience)
        except PageTooLargeError:
            return self.turn_page(max(1, len(page.items) // 2))
        if limit > 1 and len(dumps(job.intent)) > INTENT_LIMIT:
            return self.turn_page(limit // 2)
        if job.intent:
            self.record = replace(record, intent=job.intent)
            self.save()
        else:
            self.stay_alive()
        counts = job.execute(self.work_until)
        counts["items"] += page.scanned
        self.record = self._counted(counts, intent=[], start=page.last, done=page.last is None)
        return self.stay_alive()

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

    def _counted(self, counts: Counter[str], **changes: object) -> SegmentState:
        return replace(self.record, counts=self.record.counts + counts, **changes)  # type: ignore[arg-type]


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
