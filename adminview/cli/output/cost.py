"""Bills side by side, for people and for machines."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from adminview.cli.costing.comparison import Comparison
from adminview.cli.costing.prices import Prices
from adminview.cli.costing.usage import Bill, per_million, sum_bills
from adminview.cli.output.printing import Console
from adminview.cli.output.tables import table

WAYS: Final = ("AdminView", "the usual way")
FREE: Final = {"reads of the stream": "reads of the stream (Lambda's are free)"}
SEVERAL: Final = 100  # changes, of which nobody counts parts
USUAL: Final = (
    "The usual way: a batch processor that puts each row of each change, one after another, as "
    "fast as was measured; in the same batches, with the same rows and memory. It keeps no index "
    "of owners and no metrics: what it loses, it does not find again."
)
NOT_COUNTED: Final = (
    "Not counted: free tiers and discounts; the sources' own tables; questions, backfills, replay "
    "and verification; alarms and the dashboard; backups, data transfer and keys of KMS."
)


def as_data(compared: Sequence[Comparison], prices: Prices, notes: Sequence[str]) -> dict[str, Any]:
    """Show everything as one JSON object."""
    bills = [
        {"name": one.name, "load": one.load, **_bill(*_bills(one, prices), one.changes)}
        for one in compared
    ]
    changes = sum(one.changes for one in compared)
    return {
        "prices": asdict(prices),
        "bills": bills,
        "total": _bill(*_added(compared, prices), changes),
        "assumed": [*notes, *(f"{one.name}: {note}" for one in compared for note in one.notes)],
        "notCounted": NOT_COUNTED,
    }


def show(
    compared: Sequence[Comparison], prices: Prices, notes: Sequence[str], console: Console
) -> None:
    """Show a table for each source, one of them all if there are several, and what was assumed."""
    for one in compared:
        _show_bill(one.name, _bills(one, prices), one.changes, console)
    if len(compared) > 1:
        changes = sum(one.changes for one in compared)
        _show_bill("all sources", _added(compared, prices), changes, console)
    for one in compared:
        if one.notes:
            console.print(f"Assumed of {one.name}: {'; '.join(one.notes)}.")
    for note in notes:
        console.print(f"{note}.")
    console.print(f"Prices: {prices.region}, {prices.as_of}, on demand; others by --prices.")
    console.print(USUAL)
    console.print(NOT_COUNTED)


def _show_bill(name: str, bills: tuple[Bill, Bill], changes: float, console: Console) -> None:
    rate = f"{changes:,.0f}" if changes >= SEVERAL else f"{changes:.3g}"
    shown = table(f"{name}: {rate} changes a second, US dollars a month")
    shown.add_column("", no_wrap=True)
    for way in WAYS:
        shown.add_column(way, justify="right")
    for line in {**bills[0], **bills[1]}:
        shown.add_row(FREE.get(line, line), *(_dollars(bill.get(line)) for bill in bills))
    shown.add_section()
    shown.add_row("a month", *(_dollars(sum(bill.values())) for bill in bills))
    million = [per_million(bill, changes) for bill in bills]
    shown.add_row("a million changes", *map(_dollars, million))
    ratio = _ratio(*bills)
    if ratio is not None:
        shown.add_row("times ours", "", f"{ratio:.2f}")
    console.print(shown)


def _bills(one: Comparison, prices: Prices) -> tuple[Bill, Bill]:
    return one.ours.bill(prices), one.baseline.bill(prices)


def _added(compared: Sequence[Comparison], prices: Prices) -> tuple[Bill, Bill]:
    ours, usual = zip(*(_bills(one, prices) for one in compared), strict=True)
    return sum_bills(ours), sum_bills(usual)


def _bill(ours: Bill, usual: Bill, changes: float) -> dict[str, Any]:
    return {
        "changesPerSecond": changes,
        "lines": {
            line: {"adminview": ours.get(line), "usual": usual.get(line)}
            for line in {**ours, **usual}
        },
        "month": _both(sum(ours.values()), sum(usual.values())),
        "perMillionChanges": _both(per_million(ours, changes), per_million(usual, changes)),
        "ratio": _ratio(ours, usual),
    }


def _both(ours: float | None, usual: float | None) -> Mapping[str, float | None]:
    return {"adminview": ours, "usual": usual}


def _ratio(ours: Bill, usual: Bill) -> float | None:
    """Say how many times ours the usual bill is; None if ours is nothing."""
    paid = sum(ours.values())
    return sum(usual.values()) / paid if paid else None


def _dollars(amount: float | None) -> str:
    return "-" if amount is None else f"{amount:,.2f}"
