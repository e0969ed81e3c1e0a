"""Results of a verification of totals, as text and as JSON."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from adminview.cli.output.printing import Console, TextTable
from adminview.cli.output.tables import facts
from adminview.cli.output.verify import LINES, VerifyResult
from adminview.model import Registry, Total
from adminview.model.total import ALL_TOTALS

COUNTS = (
    *("totals", "equal", "in_flight", "changing", "abandoned", "differing"),
    *("forgotten", "repaired"),
)
OPTIONS: Final = ("segments", "sample", "repair", "grace")
REBUILD = "`adminview model lock --reason …` and `adminview apply`"


def as_data(result: VerifyResult, model: Registry) -> dict[str, Any]:
    counts, differences = _counted(result), result.report.findings
    return {
        "status": result.status,
        "finished": not result.trouble,
        "trouble": result.trouble,
        "scope": {name: getattr(result.scope, name) for name in OPTIONS},
        "rows": counts["scanned"],
        **{name: counts[name] for name in COUNTS},
        "listed": differences,
        "not_listed": counts["differing"] - len(differences),
        "advice": [*advice(differences, model.totals)],
    }


def show(result: VerifyResult, model: Registry, console: Console) -> None:
    """Print the differences, the counts and the verdict."""
    differences, counts = result.report.findings, _counted(result)
    if differences:
        console.print(_table(differences[:LINES]))
        if more := counts["differing"] - min(len(differences), LINES):
            console.print(f"and {more} more (--json lists {len(differences)})\n")
    console.print(facts("So far" if result.trouble else "The counts add up", _counts(result)))
    console.print(verdict(result), soft_wrap=True)
    for line in advice(differences, model.totals):
        console.print(line, soft_wrap=True)


def verdict(result: VerifyResult) -> str:
    if result.trouble:
        return f"{result.trouble}; the same command (without --restart) resumes it"
    what = "the totals" if result.scope.sample == 1 else "the sampled totals"
    equal = f"{what} are the sums of their rows"
    counts = _counted(result)
    differing = counts["differing"]
    different = f"{_count(differing)} not the sum of {'its' if differing == 1 else 'their'} rows"
    changing = counts["changing"]
    undecided = f"; {_count(changing)} undecided: changed while the rows were read"
    return (different if result.status else equal) + (undecided if changing else "")


def _counted(result: VerifyResult) -> Counter[str]:
    return result.report.counts.get(ALL_TOTALS, Counter())


def advice(findings: Iterable[Mapping[str, Any]], totals: Iterable[Total]) -> list[str]:
    """Return how to rebuild each total that differs."""
    declared = {total.name: total for total in totals}
    wrong = dict.fromkeys((finding["total"], finding["epoch"]) for finding in findings)
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


def _table(findings: Iterable[Mapping[str, Any]]) -> TextTable:
    lines = TextTable("Totals that are not the sums of their rows")
    for name in ("total", "group", "sum of the rows", "stored"):
        lines.add_column(name, overflow="fold")
    for finding in findings:
        lines.add_row(
            f"{finding['total']}, epoch {finding['epoch']}",
            " | ".join(finding["group"]) or "all",
            _amounts(finding["expected"]) or "no rows",
            _amounts(finding["stored"]) or "nothing",
        )
    return lines


def _amounts(amounts: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in amounts.items())


def _counts(result: VerifyResult) -> dict[str, Any]:
    counts, waiting = _counted(result), result.report.waiting
    unused = (
        f"{counts['forgotten'] + counts['abandoned']} ({counts['repaired']} expire from now on)"
    )
    return {
        "rows read": counts["scanned"],
        "totals compared": counts["totals"],
        "= equal": counts["equal"],
        "+ in flight": f"{counts['in_flight']} (equal when compared again)",
        "+ undecided": f"{counts['changing']} (changed while the rows were read)",
        "+ abandoned": f"{counts['abandoned']} (not declared, and no row contributes)",
        "+ differing": counts["differing"],
        **({"+ to be compared again": waiting} if waiting else {}),
        "totals that nothing uses": unused,
    }


def _count(count: int) -> str:
    return "1 total is" if count == 1 else f"{count} totals are"
