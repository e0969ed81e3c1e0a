"""Findings of the doctor, as text and as JSON."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

from adminview.cli.doctor.finding import Finding, State
from adminview.cli.output.printing import Console, TextTable, joined, styled

STYLES: Final = {
    State.OK: "green",
    State.WARNING: "yellow",
    State.UNKNOWN: "magenta",
    State.PROBLEM: "red",
}


def as_data(findings: Sequence[Finding], status: int) -> dict[str, Any]:
    return {
        "status": status,
        "counts": {state.value: count for state, count in _counts(findings).items()},
        "findings": [finding.data() for finding in findings],
    }


def show(title: str, findings: Sequence[Finding], console: Console) -> None:
    """Print a line per check, the advice, and the verdict."""
    lines = TextTable(title)
    for name in ("check", "state", "observed"):
        lines.add_column(name, overflow="fold", no_wrap=name == "state")
    for finding in findings:
        lines.add_row(finding.name, styled(finding.state, STYLES[finding.state]), finding.summary)
    console.print(lines)
    advised: dict[str, list[Finding]] = {}
    for finding in findings:
        for advice in finding.advice:
            advised.setdefault(advice, []).append(finding)
    if advised:
        console.print("What to do", style="bold")
    for group, advices in groupby(advised, key=advised.__getitem__):
        names = (styled(finding.name, STYLES[finding.state]) for finding in group)
        console.print(joined(", ", names))
        for advice in advices:  # unwrapped, so that a command can be copied
            console.print(f"  {advice}", soft_wrap=True)
    console.print(verdict(findings))


def verdict(findings: Sequence[Finding]) -> str:
    counts = _counts(findings)
    listed = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    healthy = not any(finding.fails for finding in findings)
    return f"{'healthy' if healthy else 'not healthy'}: {listed}"


def _counts(findings: Sequence[Finding]) -> dict[State, int]:
    counts = Counter(finding.state for finding in findings)
    return {state: counts[state] for state in State}
