"""After a signal, a command begins no new work, and finishes what is running."""

import os
import signal

import pytest

from adminview.cli.shutdown import graceful_shutdown


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_no_new_work_begins_after_a_signal(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with graceful_shutdown() as stop:
        assert not stop.deadline.passed
        assert not stop.end.passed
        os.kill(os.getpid(), number)
        assert stop.deadline.passed
        assert 0 < stop.end.remaining <= 30, "what must be put in order has some time"
        stop.sleep(600)  # ends at once
        assert signal.getsignal(number) is before, "the next signal ends the command"
    assert signal.getsignal(number) is before


def test_what_was_never_stopped_has_all_the_time_there_is() -> None:
    with graceful_shutdown() as stop:
        assert stop.end.earlier(1e9).remaining > 1e9
