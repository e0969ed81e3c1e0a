"""A check and its result."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from adminview.aws.aws_calls import AwsCallError, unexpected_response
from adminview.aws.error_hints import describe_error
from adminview.cli.errors import EXPECTED_ERRORS


class State(StrEnum):
    """The result of a check; the worst comes last."""

    OK = "ok"
    WARNING = "warning"  # it works, but needs attention
    UNKNOWN = "unknown"  # it could not be checked
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong, and what to do about it."""

    problem: str
    advice: str = ""
    state: State = State.PROBLEM


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    name: str
    state: State
    summary: str
    advice: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, faults: Iterable[Fault], fine: str) -> "Finding":
        """Join the faults into one finding of the worst state; *fine* is the summary of none."""
        faults = tuple(faults)
        if not faults:
            return cls(name, State.OK, fine)
        worst = max((fault.state for fault in faults), key=[*State].index)
        advice = dict.fromkeys(fault.advice for fault in faults if fault.advice)
        return cls(name, worst, "; ".join(fault.problem for fault in faults), tuple(advice))

    @property
    def fails(self) -> bool:
        return self.state in (State.PROBLEM, State.UNKNOWN)

    def data(self) -> dict[str, Any]:
        """Return the finding as JSON data."""
        return {
            "name": self.name,
            "state": self.state.value,
            "seen": self.summary,
            "do": list(self.advice),
        }


def unchecked_fault(error: AwsCallError) -> Fault:
    """Return the fault for a part of a check that AWS did not allow."""
    return Fault(str(error), error.advice, State.UNKNOWN)


Verdict: TypeAlias = tuple[Iterable[Fault], str]  # and the summary if there are none


@dataclass(frozen=True, slots=True)
class Check:
    """A named check."""

    name: str
    run: Callable[[], Verdict]


def run_check(check: Check) -> Finding:
    """Return the finding of a check; UNKNOWN if it raises."""
    try:
        faults, fine = check.run()
        return Finding.of(check.name, faults, fine)
    except EXPECTED_ERRORS as error:
        advice = (error.advice,) if isinstance(error, AwsCallError) and error.advice else ()
        return Finding(check.name, State.UNKNOWN, describe_error(error), advice)
    except Exception as error:  # noqa: BLE001 - a surprise in one check must not hide the others
        return Finding(check.name, State.UNKNOWN, unexpected_response(error))
