"""Capacity units per second, shared by all threads that spend them."""

import time
from collections.abc import Callable
from threading import Lock

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds, while a table throttles


class RateLimiter:
    """A bucket that is empty at first, fills at a steady rate and holds a second's worth.

    What a call takes is known only when it has been answered. So a call may overdraw the bucket,
    and the next ones wait until that is made good. When a table throttles, all wait: longer each
    time that it does so again at once.
    """

    def __init__(
        self,
        per_second: float | None = None,  # None: as much as there is
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.per_second = per_second
        self._clock = clock
        self._sleep = sleep
        self._units = 0.0  # full, each of many short pieces of work would have a second for nothing
        self._filled_at = clock()
        self._closed_until = self._filled_at
        self._pause = 0.0
        self._lock = Lock()

    def wait(self) -> None:
        """Wait until nothing is owed; call it before each call that spends."""
        if (rest := self.rest) > 0:
            self._sleep(rest)  # once: whoever ends the sleep early means it

    @property
    def rest(self) -> float:
        """Seconds until nothing is owed, and a table that throttled has had its pause."""
        with self._lock:
            now = self._fill()
            owed = -self._units / self.per_second if self.per_second else 0.0
            return max(0.0, owed, self._closed_until - now)

    def spend(self, units: float) -> None:
        """Take what a call has cost."""
        with self._lock:
            self._fill()
            if self.per_second is not None:
                self._units -= units

    def add_debt(self, seconds: float) -> None:
        """Begin with what another bucket of this rate still owed."""
        with self._lock:
            self._fill()
            if self.per_second is not None:
                self._units = min(self._units, -seconds * self.per_second)

    def throttled(self) -> None:
        """Yield: another caller has the table's capacity now."""
        with self._lock:
            now = self._clock()
            if now < self._closed_until:
                return  # the calls that were under way say it too
            soon = now - self._closed_until < self._pause
            self._pause = min(self._pause * 2, LONGEST_PAUSE) if soon else FIRST_PAUSE
            self._closed_until = now + self._pause

    def _fill(self) -> float:
        now = self._clock()
        if rate := self.per_second:
            self._units = min(rate, self._units + (now - self._filled_at) * rate)
            self._filled_at = now
        return now
