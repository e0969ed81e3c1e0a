"""All checks, in the order in which they run."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from adminview.cli.smoke import alarms, api, calls, functions, items, machine, metrics, sources
from adminview.cli.smoke.check import SmokeCheck, SmokeResult, run_check
from adminview.cli.smoke.run import SmokeRun
from adminview.model.errors import QueryError

MODULES: Final = (items, api, calls, machine, functions, sources, metrics, alarms)
ALL: Final = {check.number: check for module in MODULES for check in module.CHECKS}
# First what writes, then what reads the logs and metrics of these writes. A person is called last.
ORDER: Final = (1, 2, 15, 5, 6, 4, 13, 14, 10, 3, 11, 9, 7, 8, 12)


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """How long a selection of checks usually takes, and what it costs at most."""

    minutes: float
    cents: float

    @classmethod
    def of(cls, checks: Iterable[SmokeCheck]) -> "RunEstimate":
        checks = [*checks]
        waiting = [check for check in checks if check.after_minutes]
        # The others run meanwhile.
        others = sum(check.minutes for check in checks if not check.after_minutes)
        begin = max([others, *(check.after_minutes for check in waiting)])
        minutes = begin + sum(check.minutes for check in waiting)
        return cls(minutes, sum(check.cents for check in checks))


def select(only: Collection[int] | None) -> list[SmokeCheck]:
    """Return the checks with these numbers in running order; None selects all."""
    if unknown := sorted({*(only or ())} - ALL.keys()):
        numbers = ", ".join(map(str, unknown))
        msg = f"there is no check {numbers}; `adminview smoke --list` lists all"
        raise QueryError(msg)
    return [ALL[number] for number in ORDER if only is None or number in only]


def run_checks(
    checks: Iterable[SmokeCheck], run: SmokeRun, notify: Callable[[str], None]
) -> Iterator[SmokeResult]:
    """Run checks one after the other; after an interruption, the rest is skipped."""
    for check in checks:
        if not run.stop.event.is_set():
            notify(f"{check.number}. {check.title} …")
        yield run_check(check, run)
