"""Older versions of a table's items: an eventually consistent read may still return them."""

from collections.abc import Hashable
from typing import Any

from tests.simulator.fibers import Fibers

STALE_SECONDS = 3.0


class Past:
    """Replaced and deleted versions, by key, with the time."""

    def __init__(self, fibers: Fibers) -> None:
        self._fibers = fibers
        self._gone: dict[Any, list[tuple[float, Any]]] = {}

    def note(self, key: Hashable, before: Any) -> None:
        """Record the version that a key had until now; None if it did not exist."""
        self._gone.setdefault(key, []).append((self._fibers.now, before))

    def settle(self) -> None:
        """Make all readers see the current state."""
        self._gone = {key: [(0.0, None)] for key in self._gone}

    @property
    def keys(self) -> set[Any]:
        """All keys that ever existed."""
        return set(self._gone)

    def of(self, key: Hashable) -> list[Any]:
        """Return the older versions that a read of a key may still return, latest first."""
        since = self._fibers.now - STALE_SECONDS
        return [before for when, before in self._gone.get(key, ())[::-1] if when >= since]
