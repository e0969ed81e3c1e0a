"""What can go wrong at a call, and how much of it a history bears."""

from collections import Counter
from enum import StrEnum
from typing import Protocol

from tests.simulator.choices import Choices


class Fault(StrEnum):
    """The kinds of trouble, as they are counted."""

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
    REFUSED = "letters refused by the queue"
    DUPLICATED = "letter delivered twice"
    SHUFFLED = "letters out of order"
    REDELIVERED = "suffix of a shard delivered again"
    SPLIT = "shard split"
    # These follow from the others.
    TIMED_OUT = "invocation timed out"
    BISECTED = "batch bisected"
    PARTIAL = "partial batch response"
    GIVEN_UP = "batch given up by Lambda"
    POISONED = "record set aside"
    MOVING = "item changed while it was reconciled"
    RESUMED = "bulk work resumed after a crash"
    TAKEN = "segment found in other hands"
    STALE = "read of what was a moment ago"
    REDEPLOYED = "model changed"
    FAILED_REPLAY = "letter that still fails written anew"
    # These are of the totals alone.
    DETACHED = "invocation went on after Lambda gave it up"
    REPEATED = "old batch delivered again, out of order"
    RESTARTED = "stream delivered again from its oldest record"
    COVERED = "changes left out that a total included"
    PRUNED = "old positions removed"
    DELETED = "empty total deleted when its time was over"
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
LATE = (Fault.LATE, Fault.ABANDONED)  # of writes alone
DELIVERY = (Fault.DUPLICATED, Fault.SHUFFLED, Fault.REDELIVERED, Fault.SPLIT)
DRAWN = (*COMMON, *LATE, Fault.UNPROCESSED, Fault.REFUSED, *DELIVERY)
OF_TOTALS = (
    Fault.DETACHED,
    Fault.REPEATED,
    Fault.RESTARTED,
    Fault.COVERED,
    Fault.PRUNED,
    Fault.DELETED,
    Fault.MALFORMED,
)


class Luck(Protocol):
    """What a history's profile says of its faults."""

    @property
    def fault_percent(self) -> int: ...

    @property
    def fault_budget(self) -> int: ...

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names of the faults; none said means any."""

    @property
    def victims(self) -> str:
        """The beginning of the names of those who have bad luck."""


class Faults:
    """The faults of one history: which may come, how often, and which came."""

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
        """Choose what befalls *victim* now: nothing, or one of the faults that are possible."""
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
        """Let nothing go wrong any more."""
        self._left = 0
