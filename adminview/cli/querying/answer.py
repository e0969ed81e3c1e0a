"""Run a query and print its rows in the requested format."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from adminview.aws.clients import Clients
from adminview.aws.view_reader import Boto3Reader, Meter, ViewReader
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import find_pending, find_settings
from adminview.cli.options import Prefix, Stage
from adminview.cli.output import rows
from adminview.cli.output.printing import TextTable, echo, print_csv, print_json
from adminview.cli.output.tables import facts, rows_table, totals_table
from adminview.http_api.render import Renderer, text
from adminview.model import AccessPattern, Registry
from adminview.model.row import DATA
from adminview.model.total import totals_table as totals_name
from adminview.query.engine import MOST, PAGE, QueryEngine, ResultRow
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
            help="Order by the sort key [default: as declared].",
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
    csv: Annotated[
        bool,
        typer.Option("--csv", help="Print CSV: keys, then a column per attribute (data.name)."),
    ] = False
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
        if self.json and self.csv:
            msg = "--json and --csv exclude each other"
            raise typer.BadParameter(msg)
        if self.count and (self.cursor or self.csv or self.follow):
            msg = "--count counts the rows of all pages: leave out --cursor, --all and --csv"
            raise typer.BadParameter(msg)


def run(
    model: Registry, pattern: AccessPattern, texts: dict[str, str], options: QueryOptions
) -> None:
    """Run a query with parameters as typed, and print its rows."""
    options.check()
    values = typed(pattern, texts)
    Query.of(pattern, values, options.order)  # reject wrong parameters before the first call
    deployment = Deployment.from_options(options.stage, options.prefix, os.environ)
    settings = find_settings(model, deployment)
    pending = find_pending(model, deployment)
    client, meter = Clients().dynamodb, Meter()
    # At the client, so that counts and joined rows are metered too.
    client.meta.events.register("after-call.dynamodb", lambda parsed, **_: meter.add(parsed))
    engine = QueryEngine(model, ViewReader(Boto3Reader(client), settings.view_table), pending)
    query = engine.prepare(pattern.name, values, options.order)
    if options.explain:
        table = totals_name(settings.view_table) if pattern.total else settings.view_table
        _explain({"access pattern": pattern.name} | explanation(query, table))
    if options.count:
        number = engine.count(pattern.name, **values)
        echo(text({"pattern": pattern.name, "count": number}) if options.json else number)
    else:
        _print_rows(engine, query, values, options)
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


def _print_rows(
    engine: QueryEngine, query: Query, values: dict[str, Any], options: QueryOptions
) -> None:
    """Read one page or all, and print the rows."""
    pattern, renderer = query.pattern, Renderer(engine.registry)
    pages = _pages(engine, pattern.name, values, options)
    if options.json and options.follow:
        for page, _ in pages:
            for row in page:
                print_json(text(renderer.answered(row, pattern.shows)))
        return
    results: list[ResultRow] = []
    cursor = None
    for page, following in pages:
        results += page
        cursor = following
    rendered = [renderer.answered(row, pattern.shows) for row in results]
    if options.json:
        print_json(text({"pattern": pattern.name, "rows": rendered, "cursor": cursor}))
    elif options.csv:
        print_csv(rows.to_csv([*map(_flat, rendered)]))
    else:
        arguments = " ".join(f"{name}={value}" for name, value in values.items())
        title = f"{pattern.name} {arguments}".strip()
        rows.print_table(_table(title, pattern, results, rendered))
    if cursor and not options.json:
        rows.note(f"there are more rows: add --all, or --cursor {cursor}")


def _pages(
    engine: QueryEngine, name: str, values: dict[str, Any], options: QueryOptions
) -> Iterator[tuple[list[ResultRow], str | None]]:
    cursor = options.cursor
    while True:
        page = engine.page(name, limit=options.limit, cursor=cursor, order=options.order, **values)
        cursor = page.cursor
        yield page.rows, cursor
        if not cursor or not options.follow:
            return


def _flat(rendered: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of a row: keys, data, and data of the joined rows."""
    joined = {name: row["data"] if row else {} for name, row in rendered["joined"].items()}
    return {**rendered["key"], **rendered["index"], DATA: rendered["data"], **joined}


def _table(
    title: str, pattern: AccessPattern, results: list[ResultRow], rendered: list[dict[str, Any]]
) -> TextTable:
    """Return a table of rows or totals, with a column per join."""
    if pattern.total:
        joins = [join.name for join in pattern.joins]
        return totals_table(title, pattern.total, map(_flat, rendered), joins)
    if not pattern.joins:
        return rows_table(title, [result.row for result in results])
    names = {*rows.KEY, DATA, *(join.name for join in pattern.joins)}
    flat = [{n: v for n, v in _flat(row).items() if n in names} for row in rendered]
    return rows.to_table(title, flat)


def _explain(values: dict[str, Any]) -> None:
    rows.print_table(facts("", values), err=True)


def _literal(value: dict[str, str]) -> str:
    ((kind, content),) = value.items()
    return content if kind == "N" else repr(content)
