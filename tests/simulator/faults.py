"""The faults of calls, and how many a history gets."""

from collections import Counter
from enum import StrEnum
from typing import Protocol

from tests.simulator.choices import Choices


class Fault(StrEnum):
    """The kinds of faults, as they are counted."""

    THROTTLED = "call throttled"
    BROKEN = "service broken (500)"
    DENIED = "access denied"
    UNREACHED = "connection lost before the call took effect"
    UNANSWERED = "connection lost after the call took effect"
    LATE = "call took effect long after its timeout"
    ABANDONED = "invocation killed over a call that took effect long after"
    SLOW = "call stalled"
    KILLED = "invocation killed before a call"
    KILLED_AFTER = "invocation killed after a call took effect"
    UNPROCESSED = "unprocessed items"
    REFUSED = "dead letters refused by the queue"
    DUPLICATED = "dead letter delivered twice"
    SHUFFLED = "dead letters out of order"
    REDELIVERED = "suffix of a shard delivered again"
    SPLIT = "shard split"
    # These are consequences of the others.
    TIMED_OUT = "invocation timed out"
    BISECTED = "batch bisected"
    PARTIAL = "partial batch response"
    GIVEN_UP = "batch given up by Lambda"
    POISONED = "record dead-lettered"
    MOVING = "item changed while it was reconciled"
    RESUMED = "bulk work resumed after a crash"
    TAKEN = "segment held by another worker"
    STALE = "read of an older version"
    REDEPLOYED = "model changed"
    FAILED_REPLAY = "failing dead letter sent again"
    # These occur only with totals.
    DETACHED = "invocation continued after Lambda gave it up"
    REPEATED = "old batch delivered again, out of order"
    RESTARTED = "stream delivered again from its oldest record"
    STALLED = "shard not read for a while"
    COVERED = "changes left out that a total included"
    PRUNED = "expired positions removed"
    ARCHIVED = "old positions moved to the archive"
    LOOKED_UP = "old changes added after a look at the archive"
    DELETED = "empty total deleted after its expiry"
    MALFORMED = "malformed contribution skipped"


COMMON = (
    Fault.THROTTLED,
    Fault.BROKEN,
    Fault.DENIED,
    Fault.UNREACHED,
    Fault.UNANSWERED,
    Fault.SLOW,
    Fault.KILLED,
    Fault.KILLED_AFTER,
)
LATE = (Fault.LATE, Fault.ABANDONED)  # of writes only
DELIVERY = (Fault.DUPLICATED, Fault.SHUFFLED, Fault.REDELIVERED, Fault.SPLIT)
DRAWN = (*COMMON, *LATE, Fault.UNPROCESSED, Fault.REFUSED, *DELIVERY)
OF_TOTALS = (
    Fault.DETACHED,
    Fault.REPEATED,
    Fault.RESTARTED,
    Fault.STALLED,
    Fault.COVERED,
    Fault.PRUNED,
    Fault.ARCHIVED,
    Fault.LOOKED_UP,
    Fault.DELETED,
    Fault.MALFORMED,
)


class Luck(Protocol):
    """The part of a profile that determines the faults of a history."""

    @property
    def fault_percent(self) -> int: ...

    @property
    def fault_budget(self) -> int: ...

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names of the possible faults; an empty tuple means all."""

    @property
    def victims(self) -> str:
        """The prefix of the names of the fibers that have faults."""


class Faults:
    """The faults of one history: which are possible, how often, and which occurred."""

    def __init__(
        self, choices: Choices, profile: Luck, possible: tuple[Fault, ...] = DRAWN
    ) -> None:
        self._choices = choices
        self._profile = profile
        self._left = profile.fault_budget
        named = frozenset(Fault[name] for name in profile.kinds)
        self._kinds = named or frozenset(kind for kind in possible if choices.happens(60))
        self.came: Counter[Fault] = Counter()

    def draw(self, victim: str, possible: tuple[Fault, ...]) -> Fault | None:
        """Choose a possible fault for *victim*, or none."""
        if not self._left or not victim.startswith(self._profile.victims):
            return None
        kinds = [kind for kind in possible if kind in self._kinds]
        if not kinds or not self._choices.happens(self._profile.fault_percent):
            return None
        kind = self._choices.pick(kinds)
        self._left -= 1
        self.came[kind] += 1
        return kind

    def stop(self) -> None:
        """Stop all faults."""
        self._left = 0
