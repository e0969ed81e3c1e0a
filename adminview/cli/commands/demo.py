"""`adminview demo`: a small shop on a local engine, synced through real streams."""

from collections.abc import Sequence
from shlex import join
from typing import Any

from adminview.cli.commands.query import option_of
from adminview.cli.output.dead_letters import summary
from adminview.cli.output.printing import Console, doing, end_activity
from adminview.cli.output.rows import print_rows
from adminview.cli.output.tables import facts
from adminview.cli.querying.result_grid import table_grid
from adminview.cli.shutdown import graceful_shutdown
from adminview.examples import shop
from adminview.examples.shop import sample_data
from adminview.local.engines import ENGINES, EngineName
from adminview.local.local_cloud import LocalCloud, export_line
from adminview.local.source_writes import apply
from adminview.model import AccessPattern
from adminview.model.dead_letter import AnyLetter, RecordLetter
from adminview.sync.counts import BatchCounts

# Two answers, rows with a join and a ranking, with columns that fit 80 characters.
ANSWERS = {
    "buyers-of-product": ("OrderId", "Name", "Price", "profile.name"),
    "best-customers": ("userId", "count", "spent", "profile.name"),
}
NEXT = (
    "adminview patterns                              # what you can query",
    "adminview query orders-of-user --user-id user-123",
    "adminview query buyers-of-product --product-id product-def-789 --csv",
    "adminview sql \"SELECT * FROM AdminViewTable WHERE PK = 'USER#user-456'\"",
    "adminview dlq list                              # another order lacks a status: add it,",
    "adminview dlq replay                            # then replay its dead letters",
    "adminview console                               # queries, repairs and health, in a browser",
    "adminview serve                                 # the HTTP API, with a page in the browser",
)


def run_demo(
    engine_name: EngineName, console: Console, *, keep: bool = False, everything: bool = False
) -> BatchCounts:
    """Write two days of shop data, print what happened, and return the counts.

    With *everything*, also print the tables and the rows of each access pattern.
    """
    registry = shop.registry()
    with ENGINES[engine_name]() as engine:
        doing("creating tables")
        cloud = LocalCloud.start(engine, registry)
        console.rule(f"AdminView on {engine.name} (a local engine, not AWS)")
        if everything:
            _tables(cloud, console)
        doing("syncing two days of a shop")
        apply(cloud, sample_data.FIRST_DAY)
        before = _status_lists(cloud)
        apply(cloud, (sample_data.MOVED,))
        console.print(facts("A change of status moves an order", _moves(before, cloud)))
        apply(cloud, [write for write in sample_data.SECOND_DAY if write is not sample_data.MOVED])
        for pattern in registry.patterns:
            if everything or pattern.name in ANSWERS:
                columns = () if everything else ANSWERS[pattern.name]
                _print_answer(cloud, pattern, columns, console)
        _fail_and_replay(cloud, console)
        total = cloud.ledger.total()
        console.print(facts("The counts add up", counts(total)))
        if keep:
            _keep(cloud, console)
        else:
            _more(cloud, console, everything=everything)
        return total


def _fail_and_replay(cloud: LocalCloud, console: Console) -> None:
    """Write an order that its view cannot read, fix it, and replay its dead letters."""
    apply(cloud, (sample_data.BROKEN,))
    for letter in cloud.peek_letters():
        title = "An order has no status. Its dead letter has only keys and the error"
        console.print(facts(title, _letter(letter)))
    apply(cloud, (sample_data.FIXED,))
    replayed = cloud.replay().as_dict()
    console.print(summary(replayed, "The order gets a status. A replay clears its dead letters"))


def _more(cloud: LocalCloud, console: Console, *, everything: bool) -> None:
    number = len(cloud.registry.patterns)
    if not everything:
        console.print(f"adminview demo --all     prints the rows of all {number} access patterns")
    console.print("adminview demo --keep    leaves the shop running, for queries of your own")


def _keep(cloud: LocalCloud, console: Console) -> None:
    """Keep following the streams until Ctrl-C. Print what to type in another terminal."""
    apply(cloud, (sample_data.POISON,))
    console.print("The shop runs until Ctrl-C. In another terminal, in any folder, type:\n")
    console.print(export_line(cloud.environment | shop.ENVIRONMENT), soft_wrap=True)
    for command in NEXT:
        console.print(command, soft_wrap=True)
    end_activity()
    with graceful_shutdown() as stop:
        while not stop.deadline.passed:
            cloud.settle()
            stop.sleep(1.0)


def _print_answer(
    cloud: LocalCloud, pattern: AccessPattern, columns: Sequence[str], console: Console
) -> None:
    """Print the rows of an access pattern below the command that prints them."""
    parameters = sample_data.parameters(pattern)
    rows = [*cloud.query_engine.rows(pattern.name, **parameters)]
    grid = table_grid(cloud.registry, pattern, rows)
    words = [word for name, value in parameters.items() for word in (option_of(name), value)]
    if columns:
        grid = grid.select(columns)
        words += ["--columns", ",".join(columns)]
    command = join(["adminview", "query", pattern.name, *words])
    print_rows(f"$ {command}\n{pattern.about}", grid, console)


def counts(total: BatchCounts) -> dict[str, Any]:
    skipped = total.unchanged + total.no_view
    return {
        "records read": total.records,
        "= written": total.written,
        "+ skipped": f"{skipped} ({total.unchanged} unchanged, {total.no_view} with no view)",
        "+ dead-lettered": total.dead_lettered,
        "dead letters": f"{total.letters}: of the order without a status, and of its correction",
        "rows put, deleted": f"{total.rows_put}, {total.rows_deleted}",
    }


def _tables(cloud: LocalCloud, console: Console) -> None:
    sources = ", ".join(source.name for source in cloud.registry.sources)
    indexes = ", ".join(index.name for index in cloud.registry.indexes)
    totals = ", ".join(total.name for total in cloud.registry.totals)
    tables = {"sources with a stream": sources, "AdminViewTable with": indexes}
    tables |= {"AdminViewTotals with": totals}
    console.print(facts("Created from the view files of the shop", tables))


def _status_lists(cloud: LocalCloud) -> dict[str, list[str]]:
    return {
        status: [row["SK"]["S"] for row in cloud.query("orders-by-status", status=status)]
        for status in ("PENDING", "PAID")
    }


def _moves(before: dict[str, list[str]], cloud: LocalCloud) -> dict[str, Any]:
    after = _status_lists(cloud)
    moved = f"ORDER#{sample_data.MOVED.item['SK']}"
    return {"order": f"{moved}, set from PENDING to PAID"} | {
        f"{status} {when}": lists[status] or "(none)"
        for when, lists in (("before", before), ("after", after))
        for status in lists
    }


def _letter(letter: AnyLetter) -> dict[str, Any]:
    assert isinstance(letter, RecordLetter)
    return {
        "item": letter.owner,
        "error": f"{letter.error.kind}: {letter.error.reason}",
        "rows it may have touched": sorted(letter.rows) or "none",
    }
