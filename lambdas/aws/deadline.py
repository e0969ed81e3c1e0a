"""The time an invocation has left."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment, and the clock it is measured by."""

    at: float
    clock: Callable[[], float] = monotonic

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = monotonic) -> "Deadline":
        """Set a deadline from now."""
        return cls(clock() + seconds, clock)

    def earlier(self, seconds: float) -> "Deadline":
        """Keep *seconds* in hand."""
        return Deadline(self.at - seconds, self.clock)

    @property
    def remaining(self) -> float:
        """Seconds left; negative once it has passed."""
        return self.at - self.clock()

    @property
    def passed(self) -> bool:
        """Tell whether it is too late."""
        return not self.remaining > 0

    def within(self, seconds: float) -> "Deadline":
        """Set a deadline *seconds* from now, or at this one if that is sooner."""
        limit = Deadline.after(seconds)
        return Deadline(0.0, lambda: -min(self.remaining, limit.remaining))
