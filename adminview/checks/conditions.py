"""The conditions under which a sample is derived: a pure view yields the same rows in all.

The wall clock stands still, and random generators start with a seed. Other sources of change, such
as the monotonic clock, are not replaced: rows that depend on them differ between two derivations.
"""

import datetime as dt
import os
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Conditions:
    """A wall clock and its time zone, a seed, and the order in which items are derived."""

    clock: float = 1_742_121_000.0  # 2025-03-16, in the morning
    zone: str = "UTC"
    seed: int = 1
    backwards: bool = False

    def environment(self) -> dict[str, str]:
        """Return the variables that a process needs at its start."""
        return {"TZ": self.zone, "PYTHONHASHSEED": str(self.seed)}

    def data(self) -> dict[str, Any]:
        return asdict(self)


USUAL: Final = Conditions()
# Used in a finding: "… when the same item is derived …"
OTHERS: Final = {
    "after other items": Conditions(backwards=True),
    "under another clock": Conditions(clock=1_943_907_300.0, zone="Asia/Kolkata"),
    "with another random seed": Conditions(seed=2),
}


def stop_clock(now: float) -> None:
    """Set the wall clock to *now*. Call this before modules that read the clock are loaded."""
    gmtime, localtime, strftime = time.gmtime, time.localtime, time.strftime
    vars(time).update(
        time=lambda: now,
        time_ns=lambda: int(now * 1e9),
        gmtime=lambda seconds=None: gmtime(now if seconds is None else seconds),
        localtime=lambda seconds=None: localtime(now if seconds is None else seconds),
        strftime=lambda format_, moment=None: strftime(format_, moment or localtime(now)),
        ctime=lambda seconds=None: time.asctime(localtime(now if seconds is None else seconds)),
    )
    vars(dt).update(date=_date(now), datetime=_datetime(now))


def make_seeder(seed: int) -> Callable[[], None]:
    """Replace the system's random bytes; return a function that seeds all generators again."""
    system = random.Random(seed)  # noqa: S311 - it must be predictable

    def begin() -> None:
        random.seed(seed)
        system.seed(seed)

    vars(os).update(urandom=system.randbytes)
    vars(random).update(_urandom=system.randbytes)  # what `secrets` and SystemRandom use
    return begin


class _AnyInstance(type):
    """Makes `isinstance` of a subclass true for all instances of its base class."""

    def __instancecheck__(cls, instance: object) -> bool:
        if cls.__module__ != __name__:  # a class of the app
            return super().__instancecheck__(instance)
        return isinstance(instance, cls.__bases__[0])


def _date(now: float) -> type[dt.date]:
    class Date(dt.date, metaclass=_AnyInstance):
        @classmethod
        def today(cls) -> "Date":
            return cls.fromtimestamp(now)

    return Date


def _datetime(now: float) -> type[dt.datetime]:
    class Datetime(dt.datetime, metaclass=_AnyInstance):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> "Datetime":
            return cls.fromtimestamp(now, tz)

        @classmethod
        def today(cls) -> "Datetime":
            return cls.fromtimestamp(now)

        @classmethod
        def utcnow(cls) -> "Datetime":
            return cls.fromtimestamp(now, dt.UTC).replace(tzinfo=None)

    return Datetime
