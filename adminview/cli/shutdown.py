"""Stop on Ctrl-C in an orderly way. A second Ctrl-C ends the command at once."""

import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from threading import Event
from time import monotonic
from types import FrameType

from adminview.aws.deadline import NEVER, Deadline

LAST_SECONDS = 30.0  # for cleanup after a stop


@dataclass(slots=True)
class Shutdown:
    """A stop request, as two deadlines and an interruptible sleep."""

    event: Event = field(default_factory=Event)
    at: float = inf  # when the stop was requested

    @property
    def deadline(self) -> Deadline:
        """Passes when a stop is requested: start no new work after it."""
        return Deadline.at_event(self.event)

    @property
    def end(self) -> Deadline:
        """Passes LAST_SECONDS after a stop request: finish running work before it."""
        return Deadline(
            0.0, lambda: monotonic() - self.at - LAST_SECONDS if self.event.is_set() else NEVER
        )

    def sleep(self, seconds: float) -> None:
        """Sleep until *seconds* have passed or a stop is requested."""
        self.event.wait(seconds)


@contextmanager
def graceful_shutdown(
    stop: Shutdown | None = None,
    signals: Iterable[signal.Signals] = (signal.SIGINT, signal.SIGTERM),
    on_request: Callable[[], object] = lambda: None,
) -> Iterator[Shutdown]:
    """Turn the first of these *signals* into a stop request; the next one ends the process.

    SIGHUP stays ignored after `nohup`. The handler calls *on_request*, which must not print.
    """
    stop = stop or Shutdown()
    before: dict[signal.Signals, object] = {}

    def request_stop(_: int, __: FrameType | None) -> None:
        stop.at = monotonic()
        stop.event.set()
        on_request()
        _restore(before)

    for number in signals:
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, request_stop)
    try:
        yield stop
    finally:
        _restore(before)


def _restore(before: dict[signal.Signals, object]) -> None:
    for number, handler in before.items():
        signal.signal(number, handler)  # type: ignore[arg-type]  # the value of signal.signal
