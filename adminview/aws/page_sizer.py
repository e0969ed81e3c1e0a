"""How many items may be in hand at once, by all workers of a budget: learned from what they owe."""

from threading import Lock

from adminview.aws.concurrency import MAX_CONCURRENCY

FIRST_ITEMS = 25  # while nothing is known of what they take
MOST_OWED, LITTLE_OWED = 1.0, 0.25  # seconds that a page may keep the others waiting


class PageSizer:
    """One page at a time while a page has all that may be in hand; then several, full ones."""

    def __init__(self, first: float = FIRST_ITEMS) -> None:
        self._items = max(1, int(min(FIRST_ITEMS, first)))
        self._working = 0
        self._lock = Lock()

    def begin(self, most: int) -> int:
        """Say how many items the next page may have, of *most*; 0 while others must end first."""
        with self._lock:
            if self._working and (self._working + 1) * most > self._items:
                return 0
            self._working += 1
            return min(most, self._items)

    def end(self, most: int, items: int, owed: float) -> None:
        """Learn from a page of some *items*, after which so many seconds are *owed*."""
        with self._lock:
            self._working -= 1
            if owed > MOST_OWED:
                if not self._working:  # once for all that were in hand together
                    self._items = max(1, self._items // 2)
            elif owed < LITTLE_OWED and items >= min(most, self._items):
                self._items = min(self._items * 2, most * MAX_CONCURRENCY)
