"""Results of a verification, as text and as JSON."""

from dataclasses import dataclass
from typing import Any

from adminview.bulk.verification import VerifyReport
from adminview.bulk.verify.differences import Kind
from adminview.bulk.verify.repair import REPAIRED
from adminview.bulk.verify.scope import Scope
from adminview.bulk.verify.verify import LEFT
from adminview.cli.output.printing import Console, TextTable
from adminview.cli.output.tables import facts

LINES = 50
STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """The result of `adminview verify`."""

    scope: Scope
    source: str | None
    report: VerifyReport
    status: int
    trouble: str = ""  # why it is not finished

    @property
    def complete(self) -> bool:
        """Whether everything was compared."""
        return self.source is None and self.scope.sample == 1


def as_data(result: VerifyResult) -> dict[str, Any]:
    run, total = result.report, result.report.total
    options = ("segments", "sample", "repair", "grace")
    return {
        "status": result.status,
        "finished": not result.trouble,
        "trouble": result.trouble,
        "scope": {"source": result.source}
        | {name: getattr(result.scope, name) for name in options},
        **summary(run),
        "differences": {kind.value: total[kind.value] for kind in Kind},
        "listed": run.findings,
        "not_listed": _difference_count(run) - len(run.findings),
        "sources": {source: dict(counts) for source, counts in sorted(run.counts.items())},
    }


def summary(run: VerifyReport) -> dict[str, int]:
    """Return the totals. They satisfy items + rows = equal + in_flight + differing."""
    total = run.total
    names = ("items", "rows", "equal", "in_flight", "differing", "repaired", "left")
    return {name: total[name] for name in names}


def show(result: VerifyResult, console: Console) -> None:
    """Print the differences, the counts and the verdict."""
    run = result.report
    if run.findings:
        console.print(_table(run))
        if more := _difference_count(run) - min(len(run.findings), LINES):
            console.print(f"and {more} more (--json lists {len(run.findings)})\n")
    console.print(facts("So far" if result.trouble else "The counts add up", _counts(run)))
    console.print(verdict(result), soft_wrap=True)


def verdict(result: VerifyResult) -> str:
    total = result.report.total
    what = "the view" if result.complete else "the compared part of the view"
    if result.trouble:
        return f"{result.trouble}; the same command (without --restart) resumes it"
    if result.status == 0 and total["repaired"]:
        return f"{what} is equal to the sources, after {_count(total['repaired'], 'repair')}"
    if result.status == 0:
        return f"{what} is equal to the sources"
    repairable = total["left"] > total[Kind.FAILING.value]
    advice = "; --repair repairs them" if repairable and not result.scope.repair else ""
    left = _count(total["left"], "difference")
    return f"{what} is not equal to the sources: {left} left{advice}"


def _table(run: VerifyReport) -> TextTable:
    lines = TextTable("Differences", "kind", "item", "row", "what")
    for finding in run.findings[:LINES]:
        row = " | ".join(finding["row"] or ())
        what = _description(finding["what"], finding["fate"])
        lines.add_row(finding["kind"], finding["owner"] or "none", row, what)
    return lines


def _description(what: str, outcome: str) -> str:
    """Return what differs and, if a repair was tried, its result."""
    if outcome == REPAIRED:
        return f"{what}; repaired"
    return what if outcome in {LEFT, what} else f"{what}; left: {outcome}"


def _counts(run: VerifyReport) -> dict[str, Any]:
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


def _difference_count(run: VerifyReport) -> int:
    total = run.total
    return sum(total[kind.value] for kind in Kind)


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
