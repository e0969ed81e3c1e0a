"""The time an invocation has left."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from time import monotonic

CONNECT_SECONDS, READ_SECONDS = 1, 4  # the timeouts of every call to DynamoDB and SQS
LONGEST_CALL = CONNECT_SECONDS + READ_SECONDS
NEVER = -1e300  # on the clock of a deadline that has not been set yet

# Only Linux has it; elsewhere the monotonic clock does not stop.
BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", None)


def awake_or_asleep() -> float:
    """Return a monotonic time that also advances while the machine is suspended."""
    if BOOT_CLOCK is not None:
        return time.clock_gettime(BOOT_CLOCK)
    if hasattr(time, "clock_gettime"):
        return time.clock_gettime(time.CLOCK_MONOTONIC)
    return monotonic()


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in time of a clock."""

    at: float
    clock: Callable[[], float] = monotonic

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = monotonic) -> "Deadline":
        return cls(clock() + seconds, clock)

    @classmethod
    def at_event(cls, event: Event) -> "Deadline":
        """Return a deadline that passes when *event* is set."""
        return cls(0.0, lambda: 1.0 if event.is_set() else NEVER)

    def earlier(self, seconds: float) -> "Deadline":
        """Return a deadline *seconds* before this one."""
        return Deadline(self.at - seconds, self.clock)

    @property
    def remaining(self) -> float:
        """Seconds left; negative once it has passed."""
        return self.at - self.clock()

    @property
    def passed(self) -> bool:
        return not self.remaining > 0

    def within(self, seconds: float) -> "Deadline":
        """Return a deadline *seconds* from now, or this one if it is sooner."""
        return self.or_sooner(Deadline.after(seconds))

    def or_sooner(self, other: "Deadline") -> "Deadline":
        """Return the deadline that comes first; each keeps its own clock."""
        return Deadline(0.0, lambda: -min(self.remaining, other.remaining))
