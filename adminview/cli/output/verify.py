"""What a verification found, for people and for machines."""

from typing import Any

from adminview.bulk.verify.differences import Difference, Kind
from adminview.bulk.verify.run import REPAIRED, Run
from adminview.cli.output.printing import Console, TextTable
from adminview.cli.output.tables import facts, table

LINES = 50
STOPPED = "stopped"


def as_data(run: Run, status: int, trouble: str) -> dict[str, Any]:
    """Show everything as one JSON object."""
    total = run.total
    listed = [one.to_json() | {"fate": outcome} for one, outcome in run.differences.items()]
    return {
        "status": status,
        "finished": run.finished,
        "trouble": trouble,
        "scope": run.scope.to_json(),
        **summary(run),
        "differences": {kind.value: total[kind.value] for kind in Kind},
        "listed": listed,
        "not_listed": _found(run) - len(listed),
        "sources": {source: dict(counts) for source, counts in sorted(run.counts.items())},
    }


def summary(run: Run) -> dict[str, int]:
    """Count in sum; items + rows = equal + in_flight + differing."""
    total = run.total
    names = ("items", "rows", "equal", "in_flight", "differing", "repaired", "left")
    return {name: total[name] for name in names}


def show(run: Run, status: int, trouble: str, console: Console) -> None:
    """Show the differences, the counts, and in words what they mean."""
    if run.differences:
        console.print(_table(run))
        if more := _found(run) - min(len(run.differences), LINES):
            console.print(f"and {more} more (--json lists {len(run.differences)})\n")
    console.print(facts("The counts add up" if run.finished else "So far", _counts(run)))
    console.print(verdict(run, status, trouble))


def verdict(run: Run, status: int, trouble: str) -> str:
    """Say whether the view is equal to the sources."""
    total = run.total
    what = "the view" if run.scope.complete else "the part of the view that was looked at"
    if trouble:
        return (
            f"{trouble}; the same command goes on from here"
            if run.scanned or trouble == STOPPED
            else trouble
        )
    if status == 0 and total["repaired"]:
        return f"{what} is equal to the sources, after {_many(total['repaired'], 'repair')}"
    if status == 0:
        return f"{what} is equal to the sources"
    mendable = total["left"] > total[Kind.FAILING.value]
    advice = "; --repair puts them right" if mendable and not run.scope.repair else ""
    left = _many(total["left"], "difference")
    return f"{what} is not equal to the sources: {left} left{advice}"


def _table(run: Run) -> TextTable:
    shown = table("Differences")
    for name in ("kind", "item", "row", "what"):
        shown.add_column(name, overflow="fold")
    for one, outcome in [*run.differences.items()][:LINES]:
        row = " | ".join(one.row) if one.row else ""
        shown.add_row(one.kind.value, one.owner or "none", row, _what(one, outcome))
    return shown


def _what(difference: Difference, outcome: str) -> str:
    """Say what differs, and what became of it if a repair was tried."""
    if outcome == REPAIRED:
        return f"{difference.what}; repaired"
    told = outcome not in {"", "left", difference.what}
    return f"{difference.what}; left: {outcome}" if told else difference.what


def _counts(run: Run) -> dict[str, Any]:
    total, counts = run.total, summary(run)
    kinds = [f"{total[kind.value]} {kind.value}" for kind in Kind if total[kind.value]]
    found = _found(run)
    return {
        "items and rows seen": f"{counts['items']} + {counts['rows']}",
        "= equal": counts["equal"],
        "+ in flight": f"{counts['in_flight']} (equal at a second look)",
        "+ differing": counts["differing"],
        **({"+ to be looked at again": run.waiting} if run.waiting else {}),
        "differences": f"{found} ({', '.join(kinds)})" if kinds else found,
        "= repaired": counts["repaired"],
        "+ left": counts["left"],
    }


def _found(run: Run) -> int:
    total = run.total
    return sum(total[kind.value] for kind in Kind)


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
