"""Print a model change and its costs, as text or JSON."""

from typing import Any

from adminview.cli.model_lock.model_diff import ModelDiff
from adminview.cli.model_lock.wording import as_data, describe_diff
from adminview.cli.output.printing import Console, TextTable
from adminview.cli.planning.cost import Estimate, SourceCosts

COLUMNS = ("rebuild once", "fill once", "1M changes before", "after", "1M inserts before", "after")
SHORT = {"G": 1_000_000_000, "M": 1_000_000, "k": 1000}
LONGEST = 10_000  # smaller numbers are not abbreviated


def data(change: ModelDiff, estimate: Estimate | None, trouble: str) -> dict[str, Any]:
    """Return the change and its costs as JSON data."""
    if estimate is None:
        return {**as_data(change), "costs": None, "trouble": trouble}
    return {
        **as_data(change),
        "costs": {
            "one_time": estimate.one_time,
            "sources": {costs.source: _figures(costs) for costs in estimate.sources},
            "unknown": estimate.unknown,
        },
        "trouble": trouble,
    }


def show(
    change: ModelDiff, against: str, estimate: Estimate | None, trouble: str, console: Console
) -> None:
    """Print what changes and what it costs."""
    old, new = change.old["fingerprint"] if change.old else "nothing", change.new["fingerprint"]
    if change.is_empty:
        console.print(f"no change: {against} describes the model {new}")
        return
    console.print(f"from {old} ({against}) to {new}")
    for heading, lines in describe_diff(change).items():
        console.print(f"\n{heading}", style="bold")
        for line in lines:
            console.print(f"  {line}", soft_wrap=True)
    if estimate is not None and estimate.sources:
        console.print()
        console.print(_costs(estimate))
    for line in _remarks(change, estimate, trouble):
        console.print(line, soft_wrap=True)


def _costs(estimate: Estimate) -> TextTable:
    output = TextTable("Cost in write units")
    output.add_column("source", overflow="fold")
    output.add_column("items", justify="right")
    for name in COLUMNS:
        output.add_column(name, justify="right")
    for source in estimate.sources:
        about = "" if source.sampled == source.items else "~"
        costs = source.costs
        per_write = (
            costs.change_before,
            costs.change_after,
            costs.insert_before,
            costs.insert_after,
        )
        figures = [source.rebuilding, source.filling, *map(source.per_million, per_write)]
        output.add_row(source.source, *(f"{about}{short(n)}" for n in (source.items, *figures)))
    return output


def short(number: int) -> str:
    """Abbreviate a number to four digits; --json prints all of them."""
    for letter, size in SHORT.items():
        if number >= max(size, LONGEST):
            return f"{number / size:.4g}{letter}"
    return f"{number:,}"


def _remarks(change: ModelDiff, estimate: Estimate | None, trouble: str) -> list[str]:
    """Return notes on what the figures mean and omit."""
    if estimate is None:
        return [f"\nThere is no estimate of the cost: {trouble}"] if trouble else []
    remarks = [f"{estimate.one_time:,} write units once, in total."] if estimate.sources else []
    if any(source.sampled < source.items for source in estimate.sources):
        remarks.append("~ is estimated from a sample; --sample sets its size.")
    if estimate.sources:
        remarks.append(
            "Once: to rebuild rows that exist, and to fill new indexes. Then: for a million "
            "changes and a million inserts, before and after the model change. Assumed: a change "
            "rewrites every row of its item and leaves the keys. Reads are not included."
        )
    if _has_totals(change):
        remarks.append(
            "An update of a total is counted for each row; a batch of changes updates each total "
            "once, which costs less."
        )
    remarks += [
        f"{source.costs.failed} of {source.sampled} items of {source.source} fail with these views."
        for source in estimate.sources
        if source.costs.failed
    ]
    remarks += [f"There is no estimate for {name}: {why}" for name, why in estimate.unknown.items()]
    if change.replaced_indexes:
        remarks.append("An index that cannot change is counted as a new one.")
    return remarks


def _has_totals(change: ModelDiff) -> bool:
    return any(model.get("totals") for model in (change.old, change.new) if model)


def _figures(source: SourceCosts) -> dict[str, Any]:
    costs = source.costs
    return {
        "items": source.items,
        "sampled": source.sampled,
        "failed": costs.failed,
        "rebuilding": source.rebuilding,
        "filling": source.filling,
        "million_changes": {
            "now": source.per_million(costs.change_before),
            "then": source.per_million(costs.change_after),
        },
        "million_inserts": {
            "now": source.per_million(costs.insert_before),
            "then": source.per_million(costs.insert_after),
        },
    }
