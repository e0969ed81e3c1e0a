"""A command that is told to stop, stops; and nothing else is changed by it."""

import os
import signal

import pytest

from cli.stopping import stoppable


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_deadline_passes_when_the_command_is_told_to_stop(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stoppable() as until:
        assert not until.passed
        os.kill(os.getpid(), number)
        assert until.passed
    assert signal.getsignal(number) is before
