"""Results of a verification, as text and as JSON."""

from typing import Any

from adminview.bulk.verify.differences import Difference, Kind
from adminview.bulk.verify.run import REPAIRED, VerifyRun
from adminview.cli.output.printing import Console, TextTable
from adminview.cli.output.tables import facts

LINES = 50
STOPPED = "stopped"


def as_data(run: VerifyRun, status: int, trouble: str) -> dict[str, Any]:
    total = run.total
    listed = [
        difference.to_json() | {"fate": outcome} for difference, outcome in run.differences.items()
    ]
    return {
        "status": status,
        "finished": run.finished,
        "trouble": trouble,
        "scope": run.scope.to_json(),
        **summary(run),
        "differences": {kind.value: total[kind.value] for kind in Kind},
        "listed": listed,
        "not_listed": _difference_count(run) - len(listed),
        "sources": {source: dict(counts) for source, counts in sorted(run.counts.items())},
    }


def summary(run: VerifyRun) -> dict[str, int]:
    """Return the totals. They satisfy items + rows = equal + in_flight + differing."""
    total = run.total
    names = ("items", "rows", "equal", "in_flight", "differing", "repaired", "left")
    return {name: total[name] for name in names}


def show(run: VerifyRun, status: int, trouble: str, console: Console) -> None:
    """Print the differences, the counts and the verdict."""
    if run.differences:
        console.print(_table(run))
        if more := _difference_count(run) - min(len(run.differences), LINES):
            console.print(f"and {more} more (--json lists {len(run.differences)})\n")
    console.print(facts("The counts add up" if run.finished else "So far", _counts(run)))
    console.print(verdict(run, status, trouble))


def verdict(run: VerifyRun, status: int, trouble: str) -> str:
    total = run.total
    what = "the view" if run.scope.complete else "the compared part of the view"
    if trouble:
        return (
            f"{trouble}; the same command resumes here"
            if run.scanned or trouble == STOPPED
            else trouble
        )
    if status == 0 and total["repaired"]:
        return f"{what} is equal to the sources, after {_count(total['repaired'], 'repair')}"
    if status == 0:
        return f"{what} is equal to the sources"
    repairable = total["left"] > total[Kind.FAILING.value]
    advice = "; --repair repairs them" if repairable and not run.scope.repair else ""
    left = _count(total["left"], "difference")
    return f"{what} is not equal to the sources: {left} left{advice}"


def _table(run: VerifyRun) -> TextTable:
    lines = TextTable("Differences")
    for name in ("kind", "item", "row", "what"):
        lines.add_column(name, overflow="fold")
    for difference, outcome in [*run.differences.items()][:LINES]:
        row = " | ".join(difference.row) if difference.row else ""
        what = _description(difference, outcome)
        lines.add_row(difference.kind.value, difference.owner or "none", row, what)
    return lines


def _description(difference: Difference, outcome: str) -> str:
    """Return what differs and, if a repair was tried, its result."""
    if outcome == REPAIRED:
        return f"{difference.what}; repaired"
    failed = outcome not in {"", "left", difference.what}
    return f"{difference.what}; left: {outcome}" if failed else difference.what


def _counts(run: VerifyRun) -> dict[str, Any]:
    total, counts = run.total, summary(run)
    kinds = [f"{total[kind.value]} {kind.value}" for kind in Kind if total[kind.value]]
    differences = _difference_count(run)
    return {
        "items and rows compared": f"{counts['items']} + {counts['rows']}",
        "= equal": counts["equal"],
        "+ in flight": f"{counts['in_flight']} (equal when compared again)",
        "+ differing": counts["differing"],
        **({"+ to be compared again": run.waiting} if run.waiting else {}),
        "differences": f"{differences} ({', '.join(kinds)})" if kinds else differences,
        "= repaired": counts["repaired"],
        "+ left": counts["left"],
    }


def _difference_count(run: VerifyRun) -> int:
    total = run.total
    return sum(total[kind.value] for kind in Kind)


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
