"""One worker on one segment: note, do, move on. It can be killed anywhere and begun again.

Before a page is written, the record of the segment says what is in hand. Whoever finds such a
record puts that right first: an item that was deleted since then is on no page any more, and only
the note still names it. Where the next page begins is written down with its note, in one step.
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
from adminview.bulk.segment import Record, Segment
from adminview.bulk.task import PageTooLargeError, Task
from adminview.model.errors import SegmentTakenError, ServiceError, TooManyFailuresError

NOTE_LIMIT = 300 * 1024  # bytes: DynamoDB takes 400 KB for the whole record
REDONE_AT_ONCE = 25
ALIVE_SECONDS = WORK_SECONDS / 2  # between two signs of life, at most
NAP_SECONDS = 1.0  # the longest, so that a stop is soon noticed
TURN_SECONDS = 0.05  # between two tries to begin a page, while others are at theirs
PAGE_RESERVE = 20.0  # to begin a page in
FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Worker:
    """The task, where progress is kept, and when to rest or stop."""

    task: Task
    progress: LeaseTable
    model: str
    meter: Metered
    tolerated: int = 100  # failing items of a run
    stopped: Callable[[], bool] = lambda: False
    watch: Callable[[Record], None] = lambda _: None
    total: Callable[[Record], Counter[str]] = lambda one: one.counts  # of the run, as far as known
    clock: Callable[[], float] = awake_or_asleep  # a lease goes on while a laptop sleeps
    sleep: Callable[[float], object] = time.sleep

    def work(self, segment: Segment, *, end: Deadline) -> Record:
        """Work on a segment until it is done, somebody wants it to stop, or *end* comes near.

        Raises a ServiceError if AWS goes on refusing, a SegmentTakenError if somebody else has the
        segment, and a TooManyFailuresError; the work can go on later from where it is.
        """
        began = self.clock()
        record = self.progress.take(segment, self.model, deadline=end.within(ALIVE_SECONDS))
        self.meter.add_debt(record.paid_at - self.progress.now())
        if not record.done:
            record = self._work(SegmentSession(self, record, end, began))
        self._rest(end)
        return record

    def _work(self, hand: "SegmentSession") -> Record:
        try:
            while hand.record.intent and not self._over(hand.end) and hand.rest():
                pass
            hand.recover()
            self._turn_pages(hand)
        except ServiceError:
            if not hand.record.intent:
                with suppress(ServiceError, SegmentTakenError):
                    hand.leave()  # at once: nothing is in hand
            raise
        return hand.leave()

    def recover(self, found: Record, *, end: Deadline) -> Record:
        """Put right what another run left in hand, whatever model and segments it had."""
        began = self.clock()
        record = self.progress.take_over(found, deadline=end.within(ALIVE_SECONDS))
        hand = SegmentSession(self, record, end, began)
        hand.recover()
        self._rest(end)
        return hand.record

    def _rest(self, end: Deadline) -> None:
        """Let the budget make good what was taken: whoever comes next may not know of it."""
        while not self._over(end) and (owed := self.meter.rest) > 0:
            self.sleep(min(owed, NAP_SECONDS))

    def _turn_pages(self, hand: "SegmentSession") -> None:
        while not hand.record.done and not self._over(hand.end):
            if hand.rest():
                continue
            if not self._turn_page(hand):
                self.sleep(TURN_SECONDS)
                hand.stay_alive()
                continue
            self.watch(hand.record)
            hand.check_failures()

    def _turn_page(self, hand: "SegmentSession") -> bool:
        """Do the next page, unless others who share the budget are at theirs."""
        most, before = self.task.most, hand.record.counts["items"]
        limit = self.meter.begin_page(most)
        if limit:
            try:
                hand.turn_page(limit)
            finally:
                self.meter.end_page(most, hand.record.counts["items"] - before)
        return bool(limit)

    def _over(self, end: Deadline) -> bool:
        return self.stopped() or end.remaining < PAGE_RESERVE


@dataclass(slots=True)
class SegmentSession:
    """What a worker has in hand. The record in the table may be a page behind, never ahead."""

    worker: Worker
    record: Record
    end: Deadline
    saved_at: float

    def recover(self) -> None:
        """Put right what was in hand when the work ended last time."""
        while self.record.intent:
            now, later = self.record.intent[:REDONE_AT_ONCE], self.record.intent[REDONE_AT_ONCE:]
            counts = self.worker.task.recover_intent(now, self.work_until)
            self.record = self._counted(counts, intent=later)
            self.save()

    def turn_page(self, limit: int) -> None:
        """Do the next page."""
        task, record = self.worker.task, self.record
        patience = self.end.within(WORK_SECONDS)
        page = task.read(record.segment, record.start, limit, patience)
        try:
            job = task.plan(page.items, patience)
        except PageTooLargeError:
            return self.turn_page(max(1, len(page.items) // 2))
        if limit > 1 and len(dumps(job.note)) > NOTE_LIMIT:
            return self.turn_page(limit // 2)
        if job.note:
            self.record = replace(record, intent=job.note)
            self.save()
        else:
            self.stay_alive()
        counts = job.do(self.work_until)
        counts["items"] += page.scanned
        self.record = self._counted(counts, intent=[], start=page.last, done=page.last is None)
        return self.stay_alive()

    def rest(self) -> bool:
        """Wait a little, if the budget is overdrawn, and tell whether it was."""
        owed = self.worker.meter.rest
        if owed > 0:
            self.worker.sleep(min(owed, NAP_SECONDS))
            self.stay_alive()
        return owed > 0

    def check_failures(self) -> None:
        """Stop when so many items fail that it cannot be their fault."""
        worker, record = self.worker, self.record
        try:
            check_failures(record.segment.run, worker.total(record), worker.tolerated)
        except TooManyFailuresError:
            self.leave()
            raise

    def leave(self) -> Record:
        """Write down where the work is, and let others go on."""
        self.save(keep=False)
        return self.record

    def save(self, *, keep: bool = True) -> None:
        """Write the record down; from now on the work may last for a while."""
        now, progress, owed = self.worker.clock(), self.worker.progress, self.worker.meter.rest
        record = replace(self.record, paid_at=progress.now() + owed if owed else 0.0)
        self.record = progress.save(record, deadline=self.end.within(WORK_SECONDS), keep=keep)
        self.saved_at = now

    def stay_alive(self) -> None:
        """Say now and then that somebody is at work."""
        if self.worker.clock() - self.saved_at > ALIVE_SECONDS:
            self.save()

    @property
    def work_until(self) -> Deadline:
        """When the last write must have been begun, or another worker could be at it."""
        lease = Deadline(self.saved_at + WORK_SECONDS, self.worker.clock)
        return self.end.or_sooner(lease)

    def _counted(self, counts: Counter[str], **changes: object) -> Record:
        return replace(self.record, counts=self.record.counts + counts, **changes)  # type: ignore[arg-type]


def check_failures(run: str, counts: Counter[str], tolerated: int | None) -> None:
    """Refuse more failing items than are to be tolerated."""
    if too_many(counts, tolerated):
        msg = (
            f"{counts[FAILED]} items failed in {run}, and {tolerated} were to be tolerated: "
            "see why, and fix that (all items are looked at again then), or tolerate more"
        )
        raise TooManyFailuresError(msg)


def too_many(counts: Counter[str], tolerated: int | None) -> bool:
    """Tell whether more items failed than are to be tolerated; None means any number."""
    return tolerated is not None and counts[FAILED] > tolerated
