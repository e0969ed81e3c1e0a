"""What a table held a moment ago: a read that is not consistent may still see it."""

from collections.abc import Hashable
from typing import Any

from tests.simulator.fibers import Fibers

STALE_SECONDS = 3.0


class Past:
    """What was written over or deleted, by key, and when."""

    def __init__(self, fibers: Fibers) -> None:
        self._fibers = fibers
        self._gone: dict[Any, list[tuple[float, Any]]] = {}

    def note(self, key: Hashable, before: Any) -> None:
        """Remember what a key held until now; None if nothing."""
        self._gone.setdefault(key, []).append((self._fibers.now, before))

    def settle(self) -> None:
        """Let everybody see what there is."""
        self._gone = {key: [(0.0, None)] for key in self._gone}

    @property
    def keys(self) -> set[Any]:
        """All keys that ever were."""
        return set(self._gone)

    def of(self, key: Hashable) -> list[Any]:
        """Say what a key may still be seen to hold, latest first."""
        since = self._fibers.now - STALE_SECONDS
        return [before for when, before in self._gone.get(key, ())[::-1] if when >= since]
