"""Work that goes on until it is done, or until Ctrl-C."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from sys import float_info
from threading import Event
from time import monotonic

from lambdas.aws.deadline import Deadline


@contextmanager
def stoppable() -> Iterator[Deadline]:
    """Give a deadline that passes when the command is told to stop."""
    stop = Event()
    before = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield Deadline(float_info.max, lambda: inf if stop.is_set() else monotonic())
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
