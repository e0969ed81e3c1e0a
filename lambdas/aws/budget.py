"""Capacity units per second, shared by all threads that spend them."""

import time
from collections.abc import Callable
from threading import Lock


class Budget:
    """A bucket that fills at a steady rate and holds a second's worth.

    What a call takes is known only when it has been answered. So a call may overdraw the bucket,
    and the next ones wait until that is made good.
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
        self._units = per_second or 0.0
        self._filled_at = clock()
        self._lock = Lock()

    def wait(self) -> None:
        """Wait until nothing is owed; call it before each call that spends."""
        if self.per_second is None:
            return
        with self._lock:
            self._fill(self.per_second)
            owed = -self._units
        if owed > 0:
            self._sleep(owed / self.per_second)  # once: whoever ends the sleep early means it

    def spend(self, units: float) -> None:
        """Take what a call has cost."""
        if self.per_second is None:
            return
        with self._lock:
            self._fill(self.per_second)
            self._units -= units

    def _fill(self, rate: float) -> None:
        now = self._clock()
        self._units = min(rate, self._units + (now - self._filled_at) * rate)
        self._filled_at = now
