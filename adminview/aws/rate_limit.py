"""Capacity units per second, shared by all threads that spend them."""

import time
from collections.abc import Callable
from threading import Lock

from adminview.aws.concurrency import MAX_CONCURRENCY

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds, while a table throttles

FIRST_ITEMS = 25  # of a page, before the cost of an item is known
MOST_OWED, LITTLE_OWED = 1.0, 0.25  # seconds that a page may delay the others


class RateLimiter:
    """A token bucket that starts empty and holds the units of one second.

    The cost of a call is known only from its response. So a call may overdraw the bucket, and the
    next ones wait until it is balanced. When a table throttles, all callers pause; the pause
    doubles if the table throttles again right after it.
    """

    def __init__(
        self,
        per_second: float | None = None,  # None: no limit
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.per_second = per_second
        self._clock = clock
        self._sleep = sleep
        self.spent = 0.0  # in total
        self._units = 0.0  # if it started full, each short task would get a second's units for free
        self._filled_at = clock()
        self._closed_until = self._filled_at
        self._pause = 0.0
        self._lock = Lock()

    def wait(self) -> None:
        """Wait until the budget allows the next call."""
        if (seconds := self.wait_seconds) > 0:
            self._sleep(seconds)  # only once: a shutdown may end the sleep early

    @property
    def wait_seconds(self) -> float:
        """Seconds until the budget allows the next call, and a pause for throttling has ended."""
        with self._lock:
            now = self._fill()
            owed = -self._units / self.per_second if self.per_second else 0.0
            return max(0.0, owed, self._closed_until - now)

    def spend(self, units: float) -> None:
        """Deduct the cost of a call."""
        with self._lock:
            self._fill()
            self.spent += units
            if self.per_second is not None:
                self._units -= units

    def add_debt(self, seconds: float) -> None:
        """Take over a debt of *seconds* from another bucket of this rate."""
        with self._lock:
            self._fill()
            if self.per_second is not None:
                self._units = min(self._units, -seconds * self.per_second)

    def throttled(self) -> None:
        """Pause all callers: the table has no capacity left."""
        with self._lock:
            now = self._clock()
            if now < self._closed_until:
                return  # calls that were in flight are throttled too
            soon = now - self._closed_until < self._pause
            self._pause = min(self._pause * 2, LONGEST_PAUSE) if soon else FIRST_PAUSE
            self._closed_until = now + self._pause

    def _fill(self) -> float:
        now = self._clock()
        if rate := self.per_second:
            self._units = min(rate, self._units + (now - self._filled_at) * rate)
            self._filled_at = now
        return now


class PageSizer:
    """Limits the items that all workers of a budget have in progress, and learns the limit.

    While the limit is below a full page, one page runs at a time; above it, several full pages do.
    """

    def __init__(self, first: float = FIRST_ITEMS) -> None:
        self._items = max(1, int(min(FIRST_ITEMS, first)))
        self._working = 0
        self._lock = Lock()

    def begin(self, most: int) -> int:
        """Return the size of the next page, at most *most*; 0 while other pages must end first."""
        with self._lock:
            if self._working and (self._working + 1) * most > self._items:
                return 0
            self._working += 1
            return min(most, self._items)

    def end(self, most: int, items: int, owed: float) -> None:
        """Adapt the limit to a page of *items* items that left a debt of *owed* seconds."""
        with self._lock:
            self._working -= 1
            if owed > MOST_OWED:
                if not self._working:  # once for all pages that ran together
                    self._items = max(1, self._items // 2)
            elif owed < LITTLE_OWED and items >= min(most, self._items):
                self._items = min(self._items * 2, most * MAX_CONCURRENCY)
