"""A question that was typed -> its answer, as the options say."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from adminview.aws.clients import Clients
from adminview.aws.view_reader import Meter, ViewReader
from adminview.aws.view_readers import Boto3Reader
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import find_pending, find_settings
from adminview.cli.options import Prefix, Stage
from adminview.cli.output import rows
from adminview.cli.output.printing import TextTable, echo, print_csv, print_json
from adminview.cli.output.tables import answer, facts
from adminview.http_api.render import Renderer, text
from adminview.model import AccessPattern, Registry
from adminview.model.row import DATA
from adminview.query.engine import MOST, PAGE, QueryEngine, ResultRow
from adminview.query.parameters import typed
from adminview.query.query import Query

ORDERS = ["asc", "desc"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions:
    """What every question takes: its pages, and how they are shown."""

    limit: Annotated[int, typer.Option(help=f"Rows of a page, at most {MOST}.", metavar="ROWS")] = (
        PAGE
    )
    cursor: Annotated[
        str | None, typer.Option(help="Go on where a page ended, as it said.", metavar="CURSOR")
    ] = None
    order: Annotated[
        str | None,
        typer.Option(
            help="By the sort key; if not given, as the question is declared.",
            metavar="asc|desc",
            autocompletion=lambda: ORDERS,
        ),
    ] = None
    follow: Annotated[
        bool, typer.Option("--all", help="Follow the pages to the end; --limit is the size of one.")
    ] = False
    count: Annotated[bool, typer.Option("--count", help="Only count the rows, of all pages.")] = (
        False
    )
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help='As the API has it, {"rows": […], "cursor": …}; with --all, a row per line.',
        ),
    ] = False
    csv: Annotated[
        bool,
        typer.Option(
            "--csv", help="A header and a line per row: keys, then data by attribute (data.name)."
        ),
    ] = False
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Say on standard error what is asked of what, and then what it consumed.",
        ),
    ] = False
    stage: Stage = None
    prefix: Prefix = ""

    def check(self) -> None:
        """Refuse options that contradict each other."""
        if self.json and self.csv:
            msg = "--json and --csv exclude each other"
            raise typer.BadParameter(msg)
        if self.count and (self.cursor or self.csv or self.follow):
            msg = "--count counts the rows of all pages: leave --cursor, --all and --csv out"
            raise typer.BadParameter(msg)


def run(
    model: Registry, pattern: AccessPattern, given: dict[str, str], options: QueryOptions
) -> None:
    """Ask a question, and show its answer as the options say."""
    options.check()
    values = typed(pattern, given)
    Query.of(pattern, values, options.order)  # refuse what is wrong before anybody is asked
    deployment = Deployment.from_options(options.stage, options.prefix, os.environ)
    settings = find_settings(model, deployment)
    pending = find_pending(model, deployment)
    client, meter = Clients().dynamodb, Meter()
    # At the client: a count and joined rows are then on the meter too.
    client.meta.events.register("after-call.dynamodb", lambda parsed, **_: meter.add(parsed))
    asker = QueryEngine(model, ViewReader(Boto3Reader(client), settings.view_table), pending)
    question = asker.prepare(pattern.name, values, options.order)
    if options.explain:
        _explain({"question": pattern.name} | explanation(question, settings.view_table))
    if options.count:
        number = asker.count(pattern.name, **values)
        echo(text({"pattern": pattern.name, "count": number}) if options.json else number)
    else:
        _answer(asker, question, values, options)
    if options.explain:
        _explain({"calls made": meter.calls, "read units consumed": meter.units})


def explanation(question: Query, table: str) -> dict[str, Any]:
    """Say what a question asks, and of what, with names and values filled in."""
    condition, pattern = question.condition, question.pattern
    texts = condition.names | {mark: _literal(value) for mark, value in condition.values.items()}
    shards = len(question.conditions)
    spread = f"{shards}, asked together and merged" if shards > 1 else "1"
    return {
        "asked of": f"index {condition.index!r} of {table}"
        if condition.index
        else f"table {table}",
        "key condition": re.sub(r"[#:]\w+", lambda mark: texts[mark[0]], condition.expression),
        "shards": spread,
        "order": "descending" if question.descending else "ascending",
        "read": "consistently" if pattern.consistent else "eventually consistently",
        **({"shown beside": [join.name for join in pattern.joins]} if pattern.joins else {}),
    }


def _answer(
    asker: QueryEngine, question: Query, values: dict[str, Any], options: QueryOptions
) -> None:
    """Ask for a page or for all of them, and show the rows."""
    pattern, renderer = question.pattern, Renderer(asker.registry)
    pages = _pages(asker, pattern.name, values, options)
    if options.json and options.follow:
        for page, _ in pages:
            for one in page:
                print_json(text(renderer.answered(one, pattern.shows)))
        return
    found: list[ResultRow] = []
    cursor = None
    for page, following in pages:
        found += page
        cursor = following
    shown = [renderer.answered(one, pattern.shows) for one in found]
    if options.json:
        print_json(text({"pattern": pattern.name, "rows": shown, "cursor": cursor}))
    elif options.csv:
        print_csv(rows.to_csv([_flat(one) for one in shown]))
    else:
        asked = " ".join(f"{name}={value}" for name, value in values.items())
        rows.print_table(_table(f"{pattern.name} {asked}".strip(), pattern, found, shown))
    if cursor and not options.json:
        rows.note(f"there is more: add --all, or --cursor {cursor}")


def _pages(
    asker: QueryEngine, name: str, values: dict[str, Any], options: QueryOptions
) -> Iterator[tuple[list[ResultRow], str | None]]:
    cursor = options.cursor
    while True:
        page = asker.ask(name, limit=options.limit, cursor=cursor, order=options.order, **values)
        cursor = page.cursor
        yield page.rows, cursor
        if not cursor or not options.follow:
            return


def _flat(shown: dict[str, Any]) -> dict[str, Any]:
    """Put what is shown of a row into columns: keys, data, and the data of the rows beside it."""
    beside = {name: row["data"] if row else {} for name, row in shown["joined"].items()}
    return {**shown["key"], **shown["index"], DATA: shown["data"], **beside}


def _table(
    title: str, pattern: AccessPattern, found: list[ResultRow], shown: list[dict[str, Any]]
) -> TextTable:
    """Make a table to read; rows that are joined stand beside."""
    if not pattern.joins:
        return answer(title, [one.row for one in found])
    names = {*rows.KEY, DATA, *(join.name for join in pattern.joins)}
    flat = [{n: v for n, v in _flat(one).items() if n in names} for one in shown]
    return rows.to_table(title, flat)


def _explain(told: dict[str, Any]) -> None:
    rows.print_table(facts("", told), err=True)


def _literal(value: dict[str, str]) -> str:
    ((kind, content),) = value.items()
    return content if kind == "N" else repr(content)
