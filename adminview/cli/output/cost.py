"""Cost comparisons, as text and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from adminview.cli.costing.comparison import CostComparison
from adminview.cli.costing.prices import Prices
from adminview.cli.costing.usage import Bill, per_million, sum_bills
from adminview.cli.costing.warm_up import WarmUpCost
from adminview.cli.output.printing import Console, TextTable

COLUMNS: Final = ("AdminView", "baseline")
FREE: Final = {"reads of the stream": "reads of the stream (free for Lambda)"}
WHOLE_FROM: Final = 100  # changes per second that are printed without decimals
BASELINE: Final = (
    "The baseline: a Powertools batch processor that calls put_item for each row of each change, "
    "at measured speed, with the same batches, rows and memory. It has no owner index, no totals "
    "and no metrics, and does not detect lost rows."
)
NOT_COUNTED: Final = (
    "Not counted: free tiers and discounts; the source tables; queries, backfills, replay and "
    "verification; alarms and the dashboard; backups, data transfer and KMS keys."
)


def as_data(
    compared: Sequence[CostComparison],
    prices: Prices,
    notes: Sequence[str],
    once: WarmUpCost | None = None,
) -> dict[str, Any]:
    bills = [
        {
            "name": comparison.name,
            "load": comparison.load,
            **_bill(*_bills(comparison, prices), comparison.changes),
        }
        for comparison in compared
    ]
    changes = sum(comparison.changes for comparison in compared)
    return {
        "prices": asdict(prices),
        "bills": bills,
        "total": _bill(*_added(compared, prices), changes),
        "assumed": [
            *notes,
            *(f"{comparison.name}: {note}" for comparison in compared for note in comparison.notes),
        ],
        "notCounted": NOT_COUNTED,
        **({"warmThroughput": once.data(prices)} if once else {}),
    }


def show(
    compared: Sequence[CostComparison],
    prices: Prices,
    notes: Sequence[str],
    console: Console,
    once: WarmUpCost | None = None,
) -> None:
    """Print a table per source, a total if there are several, and the assumptions."""
    for comparison in compared:
        _show_bill(comparison.name, _bills(comparison, prices), comparison.changes, console)
    if len(compared) > 1:
        changes = sum(comparison.changes for comparison in compared)
        _show_bill("all sources", _added(compared, prices), changes, console)
    if once:
        console.print(_warm_up(once, prices))
    for comparison in compared:
        if comparison.notes:
            console.print(f"Assumed for {comparison.name}: {'; '.join(comparison.notes)}.")
    for note in notes:
        console.print(f"{note}.")
    console.print(f"Prices: {prices.region}, {prices.as_of}, on demand; --prices replaces them.")
    console.print(BASELINE)
    console.print(NOT_COUNTED)


def _warm_up(once: WarmUpCost, prices: Prices) -> str:
    if not once.raised:
        return f"The view already takes {once.peak:,} write units per second at once."
    named = ", ".join(f"{name} by {units:,}" for name, units in once.raised.items())
    return (
        f"Paid once, to take {once.peak:,} write units per second at once: "
        f"${once.dollars(prices):,.2f} (raises the warm throughput of {named})."
    )


def _show_bill(name: str, bills: tuple[Bill, Bill], changes: float, console: Console) -> None:
    rate = f"{changes:,.0f}" if changes >= WHOLE_FROM else f"{changes:.3g}"
    lines = TextTable(f"{name}: {rate} changes per second, US dollars per month")
    lines.add_column("", no_wrap=True)
    for column in COLUMNS:
        lines.add_column(column, justify="right")
    for line in {**bills[0], **bills[1]}:
        lines.add_row(FREE.get(line, line), *(_dollars(bill.get(line)) for bill in bills))
    lines.add_section()
    lines.add_row("per month", *(_dollars(sum(bill.values())) for bill in bills))
    million = [per_million(bill, changes) for bill in bills]
    lines.add_row("per million changes", *map(_dollars, million))
    ratio = _ratio(*bills)
    if ratio is not None:
        lines.add_row("baseline / AdminView", "", f"{ratio:.2f}")
    console.print(lines)


def _bills(compared: CostComparison, prices: Prices) -> tuple[Bill, Bill]:
    return compared.ours.bill(prices), compared.baseline.bill(prices)


def _added(compared: Sequence[CostComparison], prices: Prices) -> tuple[Bill, Bill]:
    adminview, baseline = zip(*(_bills(comparison, prices) for comparison in compared), strict=True)
    return sum_bills(adminview), sum_bills(baseline)


def _bill(adminview: Bill, baseline: Bill, changes: float) -> dict[str, Any]:
    return {
        "changesPerSecond": changes,
        "lines": {
            line: {"adminview": adminview.get(line), "baseline": baseline.get(line)}
            for line in {**adminview, **baseline}
        },
        "month": _both(sum(adminview.values()), sum(baseline.values())),
        "perMillionChanges": _both(per_million(adminview, changes), per_million(baseline, changes)),
        "ratio": _ratio(adminview, baseline),
    }


def _both(adminview: float | None, baseline: float | None) -> Mapping[str, float | None]:
    return {"adminview": adminview, "baseline": baseline}


def _ratio(adminview: Bill, baseline: Bill) -> float | None:
    """Return the baseline's cost divided by AdminView's; None if that is zero."""
    paid = sum(adminview.values())
    return sum(baseline.values()) / paid if paid else None


def _dollars(amount: float | None) -> str:
    return "-" if amount is None else f"{amount:,.2f}"
