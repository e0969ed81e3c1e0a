"""Work that goes on until it is done, or until Ctrl-C; a second Ctrl-C ends it at once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from threading import Event
from time import monotonic
from types import FrameType

from adminview.aws.deadline import Deadline

LAST_SECONDS = 30.0  # for what must still be put in order after a stop
NEVER = -1e300


@dataclass(slots=True)
class Shutdown:
    """The wish to stop, as deadlines and as a sleep that it cuts short."""

    event: Event = field(default_factory=Event)
    at: float = inf  # when it was wished

    @property
    def deadline(self) -> Deadline:
        """Begin nothing new after it."""
        return Deadline(0.0, lambda: 1.0 if self.event.is_set() else NEVER)

    @property
    def end(self) -> Deadline:
        """Be done soon after it."""
        return Deadline(
            0.0, lambda: monotonic() - self.at - LAST_SECONDS if self.event.is_set() else NEVER
        )

    def sleep(self, seconds: float) -> None:
        """Sleep, but not past the wish to stop."""
        self.event.wait(seconds)


@contextmanager
def graceful_shutdown(stop: Shutdown | None = None) -> Iterator[Shutdown]:
    """Let the first signal be a wish, and the next one an order."""
    stop = stop or Shutdown()
    before: dict[signal.Signals, object] = {}

    def wish(_: int, __: FrameType | None) -> None:
        stop.at = monotonic()
        stop.event.set()
        _restore(before)

    for number in (signal.SIGINT, signal.SIGTERM):
        before[number] = signal.signal(number, wish)
    try:
        yield stop
    finally:
        _restore(before)


def _restore(before: dict[signal.Signals, object]) -> None:
    for number, handler in before.items():
        signal.signal(number, handler)  # type: ignore[arg-type]  # what signal.signal gave
