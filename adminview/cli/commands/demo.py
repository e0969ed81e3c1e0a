"""`adminview demo`: a small shop on a local engine, synced through real streams."""

from typing import Any

from adminview.cli.output.printing import Console
from adminview.cli.output.tables import facts, plain, rows_table, totals_table
from adminview.cli.shutdown import graceful_shutdown
from adminview.examples import shop
from adminview.examples.shop import sample_data
from adminview.local.engines import ENGINES, EngineName
from adminview.local.local_cloud import LocalCloud, export_line
from adminview.local.source_writes import apply
from adminview.model import AccessPattern
from adminview.model.item import decode
from adminview.model.row import DATA
from adminview.sync.counts import BatchCounts


def run_demo(engine_name: EngineName, console: Console, *, keep: bool = False) -> BatchCounts:
    """Write two days of shop data, print the rows of each access pattern, return the counts."""
    registry = shop.registry()
    with ENGINES[engine_name]() as engine:
        cloud = LocalCloud.start(engine, registry)
        console.rule(f"AdminView on {engine.name} (a local engine, not AWS)")
        _tables(cloud, console)
        apply(cloud, sample_data.FIRST_DAY)
        before = _status_lists(cloud)
        apply(cloud, sample_data.SECOND_DAY)
        apply(cloud, (sample_data.POISON,))
        for pattern in registry.patterns:
            _print_rows(cloud, pattern, console)
        console.print(facts("How a change of status moved an order", _moves(before, cloud)))
        for letter in cloud.peek_letters() if keep else cloud.letters():
            console.print(facts("A dead letter: keys and the error, no data", _letter(letter)))
        total = cloud.ledger.total()
        console.print(facts("The counts add up", counts(total)))
        if keep:
            _keep(cloud, console)
        return total


def _keep(cloud: LocalCloud, console: Console) -> None:
    """Keep following the streams until Ctrl-C. Print the settings that other commands need."""
    console.print(
        "Running until Ctrl-C. In another terminal, in any folder, this selects the shop:\n"
    )
    console.print(export_line(cloud.environment | shop.ENVIRONMENT), soft_wrap=True)
    with graceful_shutdown() as stop:
        while not stop.deadline.passed:
            cloud.settle()
            stop.sleep(1.0)


def _print_rows(cloud: LocalCloud, pattern: AccessPattern, console: Console) -> None:
    parameters = sample_data.parameters(pattern)
    rows, title = cloud.query(pattern.name, **parameters), _title(pattern, parameters)
    if pattern.total:
        records = [{DATA: plain(decode(row[DATA]))} for row in rows]
        console.print(totals_table(title, pattern.total, records))
    else:
        console.print(rows_table(title, rows))


def counts(total: BatchCounts) -> dict[str, Any]:
    skipped = total.unchanged + total.no_view
    return {
        "records read": total.records,
        "= written": total.written,
        "+ skipped": f"{skipped} ({total.unchanged} unchanged, {total.no_view} for no view)",
        "+ dead-lettered": total.dead_lettered,
        "rows put, deleted": f"{total.rows_put}, {total.rows_deleted}",
    }


def _tables(cloud: LocalCloud, console: Console) -> None:
    sources = ", ".join(source.name for source in cloud.registry.sources)
    indexes = ", ".join(index.name for index in cloud.registry.indexes)
    totals = ", ".join(total.name for total in cloud.registry.totals)
    tables = {"sources with a stream": sources, "AdminViewTable with": indexes}
    tables |= {"AdminViewTotals with": totals}
    console.print(facts("Created from the view files of the shop", tables))


def _title(pattern: AccessPattern, parameters: dict[str, str]) -> str:
    arguments = " ".join(f"{name}={value}" for name, value in parameters.items())
    return f"{pattern.name} {arguments}\n{pattern.about}, from {pattern.place}"


def _status_lists(cloud: LocalCloud) -> dict[str, list[str]]:
    return {
        status: [row["SK"]["S"] for row in cloud.query("orders-by-status", status=status)]
        for status in ("PENDING", "PAID")
    }


def _moves(before: dict[str, list[str]], cloud: LocalCloud) -> dict[str, Any]:
    after = _status_lists(cloud)
    moved = f"ORDER#{sample_data.MOVED.item['SK']}"
    return {"order": f"{moved}, set from PENDING to PAID"} | {
        f"GSI1_PK ORDER#STATUS#{status} {when}": lists[status] or "(empty)"
        for when, lists in (("before", before), ("after", after))
        for status in lists
    }


def _letter(letter: dict[str, Any]) -> dict[str, Any]:
    error = letter["error"]
    return {
        "source": letter["source"],
        "item": letter["owner"],
        "sequence": letter["sequence"],
        "error": error["kind"],
        "reason": error["reason"],
        "rows it might have touched": letter["rows"] or "none",
    }
