"""A check, and what it found: plain data."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from adminview.cli.deployment.aws_calls import UnansweredError, puzzled
from adminview.cli.errors import EXPLAINED, explained


class State(StrEnum):
    """How it stands with what was looked at; the worst comes last."""

    OK = "ok"
    WARNING = "warning"  # it works, and somebody should know
    UNKNOWN = "unknown"  # it could not be looked at
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is not as it should be: what was seen, and what to do about it."""

    seen: str
    do: str = ""
    state: State = State.PROBLEM


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check came to."""

    name: str
    state: State
    seen: str
    do: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, faults: Iterable[Fault], fine: str) -> "Finding":
        """Take the worst of the faults, and say all of them; *fine* is said if there are none."""
        found = tuple(faults)
        if not found:
            return cls(name, State.OK, fine)
        worst = max((fault.state for fault in found), key=[*State].index)
        advice = dict.fromkeys(fault.do for fault in found if fault.do)
        return cls(name, worst, "; ".join(fault.seen for fault in found), tuple(advice))

    @property
    def fails(self) -> bool:
        """Tell whether this is a reason not to call the deployment sound."""
        return self.state in (State.PROBLEM, State.UNKNOWN)

    def data(self) -> dict[str, Any]:
        """Write it as plain data."""
        return {
            "name": self.name,
            "state": self.state.value,
            "seen": self.seen,
            "do": list(self.do),
        }


def fault_of(error: UnansweredError) -> Fault:
    """Take an error for a part of a check that could not be made."""
    return Fault(str(error), error.do, State.UNKNOWN)


Verdict: TypeAlias = tuple[Iterable[Fault], str]  # and what to say if there are none


@dataclass(frozen=True, slots=True)
class Check:
    """Something to look at, and how."""

    name: str
    look: Callable[[], Verdict]


def look(check: Check) -> Finding:
    """Make one check; what cannot be looked at is unknown, and stops no other."""
    try:
        faults, fine = check.look()
        return Finding.of(check.name, faults, fine)
    except EXPLAINED as error:
        advice = (error.do,) if isinstance(error, UnansweredError) and error.do else ()
        return Finding(check.name, State.UNKNOWN, explained(error), advice)
    except Exception as error:  # noqa: BLE001 - a surprise in one check must not hide the others
        return Finding(check.name, State.UNKNOWN, puzzled(error))
