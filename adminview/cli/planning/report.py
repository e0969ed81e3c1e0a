"""A change of the model and its costs, for people and for machines."""

from typing import Any

from adminview.cli.model_lock.model_diff import ModelDiff
from adminview.cli.model_lock.wording import as_data, in_words
from adminview.cli.output.printing import Console, TextTable
from adminview.cli.output.tables import table
from adminview.cli.planning.cost import Estimate, SourceCosts

COLUMNS = ("rebuild once", "fill once", "1M changes now", "then", "1M inserts now", "then")
SHORT = {"G": 1_000_000_000, "M": 1_000_000, "k": 1000}
LONGEST = 10_000  # written out


def data(change: ModelDiff, estimate: Estimate | None, trouble: str) -> dict[str, Any]:
    """Show everything as one JSON object."""
    if estimate is None:
        return {**as_data(change), "costs": None, "trouble": trouble}
    return {
        **as_data(change),
        "costs": {
            "one_time": estimate.one_time,
            "sources": {one.source: _figures(one) for one in estimate.sources},
            "unknown": estimate.unknown,
        },
        "trouble": trouble,
    }


def show(
    change: ModelDiff, against: str, estimate: Estimate | None, trouble: str, console: Console
) -> None:
    """Say what changes, and what it costs."""
    old, new = change.old["fingerprint"] if change.old else "nothing", change.new["fingerprint"]
    if change.nothing:
        console.print(f"the model {new} is the one in {against}")
        return
    console.print(f"from {old}, in {against}, to {new}")
    for heading, lines in in_words(change).items():
        console.print(f"\n{heading}", style="bold")
        for line in lines:
            console.print(f"  {line}", soft_wrap=True)
    if estimate is not None and estimate.sources:
        console.print()
        console.print(_costs(estimate))
    for line in _remarks(change, estimate, trouble):
        console.print(line, soft_wrap=True)


def _costs(estimate: Estimate) -> TextTable:
    shown = table("What it costs, in write units")
    shown.add_column("source", overflow="fold")
    shown.add_column("items", justify="right")
    for name in COLUMNS:
        shown.add_column(name, justify="right")
    for one in estimate.sources:
        about = "" if one.sampled == one.items else "~"
        costs = one.costs
        each = (costs.change_before, costs.change_after, costs.insert_before, costs.insert_after)
        figures = [one.rebuilding, one.filling, *map(one.per_million, each)]
        shown.add_row(one.source, *(f"{about}{short(n)}" for n in (one.items, *figures)))
    return shown


def short(number: int) -> str:
    """Write a number in few figures; --json has them all."""
    for letter, size in SHORT.items():
        if number >= max(size, LONGEST):
            return f"{number / size:.4g}{letter}"
    return f"{number:,}"


def _remarks(change: ModelDiff, estimate: Estimate | None, trouble: str) -> list[str]:
    """Say what the figures are, and what they leave out."""
    if estimate is None:
        return [f"\nWhat it costs is not known: {trouble}"] if trouble else []
    said = [f"{estimate.one_time:,} write units once, in all."] if estimate.sources else []
    if any(one.sampled < one.items for one in estimate.sources):
        said.append("~ is reckoned from a sample; --sample takes a larger one.")
    if estimate.sources:
        said.append(
            "A change is one that rewrites every row of an item and leaves their keys; reads are "
            "not counted."
        )
    said += [
        f"{one.costs.failed} of {one.sampled} items of {one.source} fail with these views."
        for one in estimate.sources
        if one.costs.failed
    ]
    said += [f"Of {name} it is not known: {why}" for name, why in estimate.unknown.items()]
    if change.changed_indexes:
        said.append("An index that cannot change is counted as a new one.")
    return said


def _figures(one: SourceCosts) -> dict[str, Any]:
    costs = one.costs
    return {
        "items": one.items,
        "sampled": one.sampled,
        "failed": costs.failed,
        "rebuilding": one.rebuilding,
        "filling": one.filling,
        "million_changes": {
            "now": one.per_million(costs.change_before),
            "then": one.per_million(costs.change_after),
        },
        "million_inserts": {
            "now": one.per_million(costs.insert_before),
            "then": one.per_million(costs.insert_after),
        },
    }
