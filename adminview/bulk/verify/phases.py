"""The runs of a verification, and the names of their tasks."""

from collections.abc import Mapping
from typing import Final

from adminview.bulk.verify.scope import VerifyPhase

VERIFY, ROWS = "verify", "-rows"
VERIFY_TOTALS, SUMS, COMPARISON = "verify-totals", "-sums", "-comparison"
# How the names of the tasks end, in the order of the runs.
CHAINS: Final[Mapping[str, Mapping[str, VerifyPhase]]] = {
    VERIFY: {"": VerifyPhase.ITEMS, ROWS: VerifyPhase.ROWS},
    VERIFY_TOTALS: {
        "": VerifyPhase.TOTALS,
        SUMS: VerifyPhase.SUMS,
        COMPARISON: VerifyPhase.COMPARISON,
    },
}
DAILY: Final = "daily-"  # begins the tasks of the scheduled verification: it has its own progress
PHASES: Final = {
    f"{prefix}{kind}{suffix}": phase
    for prefix in ("", DAILY)
    for kind, chain in CHAINS.items()
    for suffix, phase in chain.items()
}
OF_TOTALS: Final = frozenset(CHAINS[VERIFY_TOTALS].values())


def phase_of(run: str) -> VerifyPhase | None:
    """Return the phase of a run; None if it is no verification."""
    return PHASES.get(run.partition("/")[0])
