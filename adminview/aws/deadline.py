"""The time an invocation has left."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

CONNECT_SECONDS, READ_SECONDS = 1, 4  # the timeouts of every call to DynamoDB and SQS
LONGEST_CALL = CONNECT_SECONDS + READ_SECONDS

# Linux alone has it; elsewhere the monotonic clock itself does not stop.
BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", None)


def awake_or_asleep() -> float:
    """Tell the seconds that pass, also while the machine sleeps: `monotonic` stops on a laptop."""
    if BOOT_CLOCK is not None:
        return time.clock_gettime(BOOT_CLOCK)
    if hasattr(time, "clock_gettime"):
        return time.clock_gettime(time.CLOCK_MONOTONIC)
    return monotonic()


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
        return self.or_sooner(Deadline.after(seconds))

    def or_sooner(self, other: "Deadline") -> "Deadline":
        """Take the one that comes first; each goes by its own clock."""
        return Deadline(0.0, lambda: -min(self.remaining, other.remaining))
