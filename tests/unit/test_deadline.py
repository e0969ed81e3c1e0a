"""Deadlines: each has its own clock, and that of a lease never stops."""

import time

import pytest

from adminview.aws import deadline
from adminview.aws.deadline import Deadline, awake_or_asleep
from adminview.bulk.lease_table import WORK_SECONDS
from adminview.bulk.worker import SegmentSession, SegmentWorker


def test_of_two_deadlines_the_sooner_counts_each_by_its_own_clock() -> None:
    now = {"one": 0.0, "other": 100.0}
    both = Deadline(10.0, lambda: now["one"]).or_sooner(Deadline(105.0, lambda: now["other"]))
    assert both.remaining == 5
    now["one"] = 8.0
    assert both.remaining == 2
    now["other"] = 105.0
    assert both.passed


def test_time_goes_on_while_the_machine_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    if deadline.BOOT_CLOCK is not None:
        assert awake_or_asleep() == pytest.approx(time.clock_gettime(deadline.BOOT_CLOCK), abs=5)
    monkeypatch.setattr(deadline, "BOOT_CLOCK", None)
    assert awake_or_asleep() == pytest.approx(time.clock_gettime(time.CLOCK_MONOTONIC), abs=5)


def test_a_worker_that_was_suspended_knows_that_its_time_to_write_is_over() -> None:
    now = [1000.0]
    worker = SegmentWorker(None, None, "model", None, clock=lambda: now[0])  # type: ignore[arg-type]
    hand = SegmentSession(worker, None, Deadline.after(3600), saved_at=1000.0)  # type: ignore[arg-type]
    deadline = hand.work_until
    assert deadline.remaining == pytest.approx(WORK_SECONDS)
    now[0] += WORK_SECONDS + 1  # as it may be with no monotonic second passed
    assert deadline.passed
