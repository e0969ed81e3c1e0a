"""What the doctor found, for people and for machines."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

from adminview.cli.doctor.finding import Finding, State
from adminview.cli.output.printing import Console, joined, styled
from adminview.cli.output.tables import table

STYLES: Final = {
    State.OK: "green",
    State.WARNING: "yellow",
    State.UNKNOWN: "magenta",
    State.PROBLEM: "red",
}


def as_data(findings: Sequence[Finding], status: int) -> dict[str, Any]:
    """Show everything as one JSON object."""
    return {
        "status": status,
        "counts": {state.value: count for state, count in _counts(findings).items()},
        "findings": [one.data() for one in findings],
    }


def show(title: str, findings: Sequence[Finding], console: Console) -> None:
    """Show a line for each check, then what to do, then the sum."""
    shown = table(title)
    for name in ("check", "state", "seen"):
        shown.add_column(name, overflow="fold", no_wrap=name == "state")
    for one in findings:
        state = styled(one.state, STYLES[one.state])
        shown.add_row(one.name, state, one.summary)
    console.print(shown)
    advised: dict[str, list[Finding]] = {}
    for one in findings:
        for advice in one.advice:
            advised.setdefault(advice, []).append(one)
    if advised:
        console.print("What to do", style="bold")
    for those, advices in groupby(advised, key=advised.__getitem__):
        names = joined(", ", (styled(one.name, STYLES[one.state]) for one in those))
        console.print(names)
        for advice in advices:  # whole, so that a command can be copied
            console.print(f"  {advice}", soft_wrap=True)
    console.print(verdict(findings))


def verdict(findings: Sequence[Finding]) -> str:
    """Say in a line how it stands."""
    counts = _counts(findings)
    each = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    sound = not any(one.fails for one in findings)
    return f"{'in order' if sound else 'not in order'}: {each}"


def _counts(findings: Sequence[Finding]) -> dict[State, int]:
    found = Counter(one.state for one in findings)
    return {state: found[state] for state in State}
