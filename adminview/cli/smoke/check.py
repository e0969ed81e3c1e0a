"""A numbered check, its result, and what it must clean up."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from adminview.aws.aws_calls import AwsCallError, unexpected_response
from adminview.aws.error_hints import describe_error
from adminview.cli.errors import EXPECTED_ERRORS
from adminview.model.errors import AdminViewError

if TYPE_CHECKING:
    from adminview.cli.smoke.run import SmokeRun

LONGEST: Final = 400  # characters of an error in a report
LOCAL: Final = "a local cloud does not show how AWS behaves"


class SmokeStatus(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"  # it could not be seen
    SKIPPED = "skipped"  # it does not apply to this deployment


class StopRequestedError(AdminViewError):
    """The run was interrupted, or its time is used up."""


class UnknownError(AdminViewError):
    """A check cannot see what it needs to. *follows* says what to do."""

    def __init__(self, seen: str, follows: str = "") -> None:
        super().__init__(seen)
        self.follows = follows


@dataclass(frozen=True, slots=True)
class Seen:
    """What a check has seen, and what follows from it."""

    status: SmokeStatus
    seen: str
    follows: str = ""


def passed(seen: str) -> Seen:
    return Seen(SmokeStatus.PASSED, seen)


def failed(seen: str, follows: str) -> Seen:
    return Seen(SmokeStatus.FAILED, seen, follows)


def unknown(seen: str, follows: str = "") -> Seen:
    return Seen(SmokeStatus.UNKNOWN, seen, follows)


def skipped(reason: str) -> Seen:
    return Seen(SmokeStatus.SKIPPED, reason)


@dataclass(slots=True)
class Cleanup:
    """What a check must undo. Add it before it is done: the check may be interrupted."""

    steps: list[tuple[str, Callable[[], object]]] = field(default_factory=list)

    def add(self, what: str, undo: Callable[[], object]) -> None:
        """Remember to *undo* something; *what* is left behind if that fails."""
        self.steps.append((what, undo))

    def run(self) -> list[str]:
        """Undo everything, the latest first, and return what is left behind."""
        left = []
        while self.steps:
            what, undo = self.steps.pop()
            try:
                undo()
            except Exception as error:  # noqa: BLE001 - the other steps must run
                left.append(f"{what} ({describe(error)})")
        return left


@dataclass(frozen=True, slots=True)
class SmokeCheck:
    """A check. It raises an UnknownError, or any error of AWS, if it cannot see what it needs."""

    number: int
    title: str
    expected: str  # the assumption that a pass confirms
    run: Callable[["SmokeRun", Cleanup], Seen]
    minutes: float  # that it usually takes
    cents: float  # at most
    after_minutes: float = 0.0  # since the first write of the run, before it begins
    only_on_aws: bool = False  # a local cloud may not answer as AWS does


@dataclass(frozen=True, slots=True)
class SmokeResult:
    """A check with what it has seen."""

    check: SmokeCheck
    seen: Seen
    seconds: float = 0.0

    def data(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        return {
            "number": self.check.number,
            "title": self.check.title,
            "status": self.seen.status.value,
            "expected": self.check.expected,
            "seen": self.seen.seen,
            "follows": self.seen.follows,
            "seconds": round(self.seconds, 1),
        }


def run_check(check: SmokeCheck, run: "SmokeRun") -> SmokeResult:
    """Run one check, and clean up after it however it ends."""
    began, cleanup = run.clock(), Cleanup()
    try:
        seen = _seen(check, run, cleanup)
    finally:
        left = cleanup.run()
    if left:
        words = f"{seen.seen}; left behind: {'; '.join(left)}"
        seen = failed(words, f"delete what has {run.mark!r} in its key, and what is left behind")
    return SmokeResult(check, seen, run.clock() - began)


def _seen(check: SmokeCheck, run: "SmokeRun", cleanup: Cleanup) -> Seen:
    try:
        run.check_time(check.minutes * 60)
        seen = check.run(run, cleanup)
    except StopRequestedError as error:
        return unknown(str(error), f"run it alone: --only {check.number}")
    except UnknownError as error:
        return unknown(str(error), error.follows)
    except EXPECTED_ERRORS as error:
        advice = error.advice if isinstance(error, AwsCallError) else ""
        return unknown(describe(error), advice)
    except Exception as error:  # noqa: BLE001 - a surprise in one check must not hide the others
        return unknown(unexpected_response(error))
    if check.only_on_aws and run.on_local_cloud and seen.status is not SmokeStatus.SKIPPED:
        return unknown(f"{LOCAL}; there: {seen.seen}")
    return seen


def describe(error: Exception) -> str:
    """Return the text of an expected error, shortened, and only the class of any other."""
    if not isinstance(error, EXPECTED_ERRORS):
        return unexpected_response(error)
    text = describe_error(error)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
