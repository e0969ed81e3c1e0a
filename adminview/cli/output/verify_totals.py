"""Results of a verification of totals, as text and as JSON."""

from collections.abc import Iterable, Mapping
from typing import Any

from adminview.bulk.verify.totals_run import TotalsRun
from adminview.cli.output.printing import Console, TextTable
from adminview.cli.output.tables import facts
from adminview.cli.output.verify import LINES
from adminview.model import Registry, Total
from adminview.totals.comparison import TotalDifference

COUNTS = (
    *("totals", "equal", "in_flight", "changing", "abandoned", "differing"),
    *("forgotten", "repaired"),
)
REBUILD = "`adminview model lock --reason …` and `adminview apply`"


def as_data(run: TotalsRun, model: Registry, status: int, trouble: str) -> dict[str, Any]:
    return {
        "status": status,
        "finished": run.finished,
        "trouble": trouble,
        "scope": run.scope.to_json(),
        "rows": run.scanned,
        **{name: run.counts[name] for name in COUNTS},
        "listed": [difference.to_json() for difference in run.differences],
        "not_listed": run.counts["differing"] - len(run.differences),
        "advice": [*advice(run.differences, model.totals)],
    }


def show(run: TotalsRun, model: Registry, status: int, trouble: str, console: Console) -> None:
    """Print the differences, the counts and the verdict."""
    if run.differences:
        console.print(_table(run.differences[:LINES]))
        if more := run.counts["differing"] - min(len(run.differences), LINES):
            console.print(f"and {more} more (--json lists {len(run.differences)})\n")
    console.print(facts("The counts add up" if run.finished else "So far", _counts(run)))
    console.print(verdict(run, status, trouble))
    for line in advice(run.differences, model.totals):
        console.print(line, soft_wrap=True)


def verdict(run: TotalsRun, status: int, trouble: str) -> str:
    if trouble:
        return f"{trouble}; the same command starts again"
    what = "the totals" if run.scope.sample == 1 else "the sampled totals"
    equal = f"{what} are the sums of their rows"
    differing = run.counts["differing"]
    different = f"{_count(differing)} not the sum of {'its' if differing == 1 else 'their'} rows"
    changing = run.counts["changing"]
    undecided = f"; {_count(changing)} undecided, for changing all the time" if changing else ""
    return (different if status else equal) + undecided


def advice(differences: Iterable[TotalDifference], totals: Iterable[Total]) -> list[str]:
    """Return how to rebuild each total that differs."""
    declared = {total.name: total for total in totals}
    wrong = dict.fromkeys((difference.total, difference.epoch) for difference in differences)
    return [_advice(name, epoch, declared.get(name)) for name, epoch in wrong]


def _advice(name: str, epoch: str, total: Total | None) -> str:
    if total is None or epoch not in {str(total.epoch), str(total.epoch_was)}:
        return f"{name}, epoch {epoch}: no view file declares it; let `adminview apply` end."
    if epoch == str(total.epoch_was):
        return f"{name}, epoch {epoch}: epoch {total.epoch} replaces it; let `adminview apply` end."
    return (
        f"{name}: find out why it differs, then rebuild it: declare it with epoch={total.epoch + 1}"
        f", epoch_was={total.epoch}, and run {REBUILD}."
    )


def _table(differences: Iterable[TotalDifference]) -> TextTable:
    lines = TextTable("Totals that are not the sums of their rows")
    for name in ("total", "group", "sum of the rows", "stored"):
        lines.add_column(name, overflow="fold")
    for difference in differences:
        lines.add_row(
            f"{difference.total}, epoch {difference.epoch}",
            " | ".join(difference.values) or "all",
            _amounts(difference.expected) or "no rows",
            _amounts(difference.stored) or "nothing",
        )
    return lines


def _amounts(amounts: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in amounts.items())


def _counts(run: TotalsRun) -> dict[str, Any]:
    counts = run.counts
    unused = (
        f"{counts['forgotten'] + counts['abandoned']} ({counts['repaired']} expire from now on)"
    )
    return {
        "rows read": run.scanned,
        "totals compared": counts["totals"],
        "= equal": counts["equal"],
        "+ in flight": f"{counts['in_flight']} (equal when compared again)",
        "+ undecided": f"{counts['changing']} (changed whenever they were compared)",
        "+ abandoned": f"{counts['abandoned']} (not declared, and no row contributes)",
        "+ differing": counts["differing"],
        "totals that nothing uses": unused,
    }


def _count(count: int) -> str:
    return "1 total is" if count == 1 else f"{count} totals are"
