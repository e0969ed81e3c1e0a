"""`adminview sql`: read AdminViewTable with an ad hoc SELECT."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from botocore.exceptions import ClientError

from adminview.aws.attribute_codec import from_boto3
from adminview.aws.clients import Clients
from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, call_with_retry
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import find_settings
from adminview.cli.options import Prefix, Stage
from adminview.cli.output import rows
from adminview.cli.output.data_order import DataOrder
from adminview.cli.output.grid import Grid
from adminview.cli.output.printing import Console, counting, print_json
from adminview.cli.output.tables import facts
from adminview.cli.querying.row_format import Columns, Csv, CsvRaw, RowFormat
from adminview.cli.querying.statement import Select, read
from adminview.http_api.render import text
from adminview.model import Registry
from adminview.model.attribute import PK
from adminview.model.errors import QueryError, ServiceError
from adminview.model.row import TOTALS, VIEW_TABLE, Attributes
from adminview.model.total import totals_table
from adminview.views import registry

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PAGE = 50  # rows, by default
SECONDS = 25.0  # for a call, with retries


@dataclass(frozen=True, slots=True)
class StatementPlan:
    """A statement in the form that is sent, and how DynamoDB executes it."""

    statement: str
    place: str
    partition: tuple[str, ...]
    missing: tuple[str, ...]  # partition attributes that the condition does not fix

    @property
    def scans(self) -> bool:
        return bool(self.missing)


def sql(  # noqa: PLR0913 - the command's options
    statement: Annotated[
        str,
        typer.Argument(help="For example: SELECT * FROM \"AdminViewTable\" WHERE PK = 'USER#1'"),
    ],
    *,
    scan: Annotated[
        bool, typer.Option("--scan", help="Allow a scan of the whole table or index.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="Rows per page.", metavar="ROWS")] = PAGE,
    cursor: Annotated[
        str | None,
        typer.Option(help="Continue after a page, with the cursor it printed.", metavar="CURSOR"),
    ] = None,
    follow: Annotated[bool, typer.Option("--all", help="Read all pages.")] = False,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help='Print {"rows": […], "cursor": …}; with --all, one row per line.',
        ),
    ] = False,
    csv: Csv = False,
    csv_raw: CsvRaw = False,
    columns: Columns = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what the statement would do; send nothing.")
    ] = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Run a PartiQL SELECT on AdminViewTable or one of its indexes.

    Other statements are refused. So is a SELECT that would scan, unless you give --scan.
    """
    row_format = RowFormat.of(columns, json=json, csv=csv, csv_raw=csv_raw)
    select = read(statement)
    deployment = Deployment.from_options(stage, prefix)
    settings = find_settings(registry(), deployment, connects=not dry_run)
    planned = plan(select, registry(), settings.view_table)
    if dry_run:
        Console().print(facts("", explanation(planned)))
        return
    if planned.scans and not scan:
        raise QueryError(refusal(planned))
    client = Clients().dynamodb
    pages = execute(client, planned, None if follow else limit, cursor)
    if json and follow:
        for page, _ in pages:
            for row in page:
                print_json(text(rows.record(row)))
        return
    records: list[dict[str, Any]] = []
    for page, following in pages:
        records += map(rows.record, page)
        cursor = following
        counting(f"{len(records)} rows read")
    if json:
        print_json(text({"rows": records, "cursor": cursor}))
        return
    row_format.print("", Grid.of(records, DataOrder.of(registry()).columns))
    if cursor:
        rows.note(f"there are more rows: add --all, or --cursor {cursor}")


def plan(select: Select, model: Registry, table: str) -> StatementPlan:
    """Resolve the table and index of a SELECT. Raises a QueryError if there is no such one."""
    if select.table not in {VIEW_TABLE, table}:
        other = "" if table == VIEW_TABLE else f" (deployed as {table})"
        msg = f"table {select.table!r} cannot be read: only {VIEW_TABLE!r}{other} can"
        if select.table in {totals_table(VIEW_TABLE), totals_table(table)}:
            msg += "; read totals with `adminview query`"
        raise QueryError(msg)
    indexes = {index.name: index for index in model.indexes}
    if select.index is not None and select.index not in indexes:
        names = ", ".join(sorted(indexes))
        msg = f"{VIEW_TABLE} has no index {select.index!r}; it has {names}"
        raise QueryError(msg)
    keys = indexes[select.index].stored_partition if select.index else (PK,)
    partition = tuple(key.name for key in keys)
    missing = tuple(name for name in partition if name not in select.fixed)
    place = f"index {select.index!r} of {table}" if select.index else f"table {table}"
    return StatementPlan(select.on(table), place, partition, missing)


def explanation(planned: StatementPlan) -> dict[str, Any]:
    why = f"its condition does not fix {', '.join(planned.missing)}"
    return {
        "it would": f"scan: {why}" if planned.scans else "query",
        "on": planned.place,
        "partition key": list(planned.partition),
        "statement": planned.statement,
    }


def refusal(planned: StatementPlan) -> str:
    fixed = " and ".join(f"{name} = …" for name in planned.partition)
    return (
        f"the statement would scan the whole {planned.place}: its condition does not fix "
        f"{', '.join(planned.missing)}. Add {fixed}, joined by AND and with text in single "
        "quotes; or use `adminview query`, or give --scan"
    )


def execute(
    client: "DynamoDBClient", planned: StatementPlan, limit: int | None, cursor: str | None
) -> Iterator[tuple[list[Attributes], str | None]]:
    """Yield pages of up to *limit* rows in all, each with the cursor of the next.

    What rows contribute to totals is left out, unless the statement names it.
    """
    left = limit
    hidden = () if TOTALS in planned.statement else (TOTALS,)
    while True:
        # DynamoDB counts the rows it evaluates, so a page may hold fewer than this.
        paging: dict[str, Any] = {"Limit": left} if left else {}
        paging |= {"NextToken": cursor} if cursor else {}
        page = _call(client, Statement=planned.statement, **paging)
        items, cursor = [*map(from_boto3, page["Items"])], page.get("NextToken")
        yield [{n: v for n, v in item.items() if n not in hidden} for item in items], cursor
        left = left - len(items) if left else None
        if not cursor or (left is not None and left <= 0):
            return


def _call(client: "DynamoDBClient", **arguments: Any) -> Any:
    call = partial(client.execute_statement, **arguments)
    try:
        return call_with_retry(call, "run the statement", Backoff(), Deadline.after(SECONDS))
    except ServiceError as error:
        cause = error.__cause__
        if not isinstance(cause, ClientError) or error.code != "ValidationException":
            raise
        msg = f"DynamoDB refused the statement: {cause.response['Error']['Message']}"
        raise QueryError(msg) from error
