"""Run a query and print its rows in the requested format."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, cast

import typer

from adminview.aws.clients import Clients
from adminview.aws.endpoints import ENDPOINT
from adminview.aws.stack_outputs import find_pending
from adminview.aws.view_reader import Meter
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import find_settings
from adminview.cli.options import Prefix, Stage
from adminview.cli.output import rows
from adminview.cli.output.printing import Console, counting, doing, echo, print_json
from adminview.cli.output.tables import facts
from adminview.cli.querying.result_grid import for_table, result_grid
from adminview.cli.querying.row_format import Columns, Csv, CsvRaw, RowFormat
from adminview.client import Order, Rows, ViewClient
from adminview.http_api.render import Renderer, text
from adminview.model import AccessPattern, Registry
from adminview.model.total import totals_table as totals_name
from adminview.query.engine import MOST, PAGE, ResultRow
from adminview.query.parameters import typed
from adminview.query.query import Query

ORDERS = ["asc", "desc"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions:
    """Options of every query: paging and output format."""

    limit: Annotated[int, typer.Option(help=f"Rows per page, at most {MOST}.", metavar="ROWS")] = (
        PAGE
    )
    cursor: Annotated[
        str | None,
        typer.Option(help="Continue after a page, with the cursor it printed.", metavar="CURSOR"),
    ] = None
    order: Annotated[
        str | None,
        typer.Option(
            help="Order by the sort key (default: as declared).",
            metavar="asc|desc",
            autocompletion=lambda: ORDERS,
        ),
    ] = None
    follow: Annotated[
        bool, typer.Option("--all", help="Read all pages; --limit is the page size.")
    ] = False
    count: Annotated[
        bool, typer.Option("--count", help="Print only the number of rows in all pages.")
    ] = False
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help='Print {"rows": […], "cursor": …}, as the API does; with --all, one row per line.',
        ),
    ] = False
    csv: Csv = False
    csv_raw: CsvRaw = False
    columns: Columns = None
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Print index, key condition and consumed read units on standard error.",
        ),
    ] = False
    stage: Stage = None
    prefix: Prefix = ""

    def check(self) -> None:
        """Raise a usage error for options that contradict each other."""
        self.format  # noqa: B018 - raises for two formats
        if self.count and (self.cursor or self.csv or self.csv_raw or self.columns or self.follow):
            msg = (
                "--count counts the rows of all pages: "
                "leave out --cursor, --all, --columns, --csv and --csv-raw"
            )
            raise typer.BadParameter(msg)

    @property
    def format(self) -> RowFormat:
        return RowFormat.of(self.columns, json=self.json, csv=self.csv, csv_raw=self.csv_raw)


def run(
    model: Registry, pattern: AccessPattern, texts: dict[str, str], options: QueryOptions
) -> None:
    """Run a query with parameters as typed, and print its rows."""
    options.check()
    values = typed(pattern, texts)
    Query.of(pattern, values, options.order)  # reject wrong parameters before the first call
    deployment = Deployment.from_options(options.stage, options.prefix)
    settings = find_settings(model, deployment)
    pending = find_pending(model, deployment)
    client, meter = Clients().dynamodb, Meter()
    # At the client, so that counts and joined rows are metered too.
    client.meta.events.register("after-call.dynamodb", lambda parsed, **_: meter.add(parsed))
    engine = ENDPOINT if os.environ.get(ENDPOINT) else ""
    view = ViewClient.of(model, settings.view_table, client, pending, engine)
    order = cast("Order | None", options.order)
    results = view.query(pattern.name, order=order, **values)
    if options.explain:
        table = totals_name(settings.view_table) if pattern.total else settings.view_table
        query = view.engine.prepare(pattern.name, values, order)
        _explain({"access pattern": pattern.name} | explanation(query, table))
    if options.count:
        doing("counting rows")
        number = results.count()
        echo(text({"pattern": pattern.name, "count": number}) if options.json else number)
    else:
        _print_rows(results, options)
    if options.explain:
        _explain({"calls made": meter.calls, "read units consumed": meter.units})


def explanation(query: Query, table: str) -> dict[str, Any]:
    """Describe the DynamoDB query, with names and values filled in."""
    condition, pattern = query.condition, query.pattern
    texts = condition.names | {mark: _literal(value) for mark, value in condition.values.items()}
    shards = len(query.conditions)
    return {
        "queries": f"index {condition.index!r} of {table}" if condition.index else f"table {table}",
        "key condition": re.sub(r"[#:]\w+", lambda mark: texts[mark[0]], condition.expression),
        "shards": f"{shards}, queried concurrently and merged" if shards > 1 else "1",
        "order": "descending" if query.descending else "ascending",
        "read": "consistently" if pattern.consistent else "eventually consistently",
        **({"joins": [join.name for join in pattern.joins]} if pattern.joins else {}),
    }


def _print_rows(results: Rows, options: QueryOptions) -> None:
    """Read one page or all, and print the rows."""
    model, pattern = results.view.engine.registry, results.pattern
    renderer, pages = Renderer(model), _pages(results, options)
    if options.json and options.follow:
        for page, _ in pages:
            for row in page:
                print_json(text(renderer.answered(row, pattern.shows)))
        return
    answered: list[ResultRow] = []
    cursor = None
    for page, following in pages:
        answered += page
        cursor = following
        counting(f"{len(answered)} rows read")
    if options.json:
        rendered = [renderer.answered(row, pattern.shows) for row in answered]
        print_json(text({"pattern": pattern.name, "rows": rendered, "cursor": cursor}))
        return
    arguments = " ".join(f"{name}={value}" for name, value in results.parameters.items())
    grid = result_grid(model, pattern, answered)
    hidden = {*grid.columns} - {*for_table(grid, pattern).columns}
    options.format.print(f"{pattern.name} {arguments}".strip(), grid, hidden)
    if cursor:
        rows.note(f"there are more rows: add --all, or --cursor {cursor}")


def _pages(results: Rows, options: QueryOptions) -> Iterator[tuple[list[ResultRow], str | None]]:
    cursor = options.cursor
    while True:
        page = results.read(cursor, options.limit)
        cursor = page.cursor
        yield page.rows, cursor
        if not cursor or not options.follow:
            return


def _explain(values: dict[str, Any]) -> None:
    Console(stderr=True).print(facts("", values))


def _literal(value: dict[str, str]) -> str:
    ((kind, content),) = value.items()
    return content if kind == "N" else repr(content)
