"""`adminview sql`: read AdminViewTable with a SELECT of one's own."""

import os
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
from adminview.cli.output.printing import print_csv, print_json
from adminview.cli.output.tables import facts
from adminview.cli.querying.statement import Select, read
from adminview.http_api.render import text
from adminview.model import Registry
from adminview.model.attribute import PK
from adminview.model.errors import QuestionError, ServiceError
from adminview.model.row import VIEW_TABLE, Attributes
from adminview.views import registry

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PAGE = 50  # rows, if nobody says
SECONDS = 25.0  # for a call, with retries


@dataclass(frozen=True, slots=True)
class StatementPlan:
    """A statement as it would be sent, and what DynamoDB would do."""

    statement: str
    place: str
    partition: tuple[str, ...]
    missing: tuple[str, ...]  # of the partition attributes: what the condition does not fix

    @property
    def scans(self) -> bool:
        """Whether it would read all rows there are."""
        return bool(self.missing)


def sql(  # noqa: PLR0913 - the command's options
    statement: Annotated[
        str, typer.Argument(help="Such as SELECT * FROM \"AdminViewTable\" WHERE PK = 'USER#1'.")
    ],
    *,
    scan: Annotated[
        bool, typer.Option("--scan", help="Run it even if it reads the whole table or index.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="Rows of a page.", metavar="ROWS")] = PAGE,
    cursor: Annotated[
        str | None, typer.Option(help="Go on where a page ended, as it said.", metavar="CURSOR")
    ] = None,
    follow: Annotated[bool, typer.Option("--all", help="Follow the pages to the end.")] = False,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help='One object, {"rows": […], "cursor": …}; with --all, an object per row and line.',
        ),
    ] = False,
    csv: Annotated[
        bool, typer.Option("--csv", help="A header and a line per row; maps by attribute.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would do, and send nothing.")
    ] = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Run a SELECT (PartiQL) on AdminViewTable or one of its indexes; nothing else is sent."""
    if json and csv:
        msg = "--json and --csv exclude each other"
        raise typer.BadParameter(msg)
    select = read(statement)
    deployment = Deployment.from_options(stage, prefix, os.environ)
    settings = find_settings(registry(), deployment, connects=not dry_run)
    made = plan(select, registry(), settings.view_table)
    if dry_run:
        rows.print_table(facts("", explanation(made)))
        return
    if made.scans and not scan:
        raise QuestionError(refusal(made))
    client = Clients().dynamodb
    pages = execute(client, made, None if follow else limit, cursor)
    if json and follow:
        for page, _ in pages:
            for row in page:
                print_json(text(rows.record(row)))
        return
    found: list[dict[str, Any]] = []
    for page, following in pages:
        found += map(rows.record, page)
        cursor = following
    _show(found, cursor, json=json, csv=csv)


def plan(select: Select, model: Registry, table: str) -> StatementPlan:
    """Find what a SELECT is put to, or say what there is."""
    if select.table not in {VIEW_TABLE, table}:
        other = "" if table == VIEW_TABLE else f" (deployed as {table})"
        msg = f"there is no table {select.table!r} here: only {VIEW_TABLE!r}{other} is read"
        raise QuestionError(msg)
    indexes = {index.name: index for index in model.indexes}
    if select.index is not None and select.index not in indexes:
        names = ", ".join(sorted(indexes))
        msg = f"{VIEW_TABLE} has no index {select.index!r}; there are {names}"
        raise QuestionError(msg)
    keys = indexes[select.index].stored_partition if select.index else (PK,)
    partition = tuple(key.name for key in keys)
    missing = tuple(name for name in partition if name not in select.fixed)
    place = f"index {select.index!r} of {table}" if select.index else f"table {table}"
    return StatementPlan(select.on(table), place, partition, missing)


def explanation(made: StatementPlan) -> dict[str, Any]:
    """Say what DynamoDB would do."""
    why = f"its condition does not fix {', '.join(made.missing)}"
    return {
        "it would": f"scan: {why}" if made.scans else "query",
        "on": made.place,
        "partition key": list(made.partition),
        "statement": made.statement,
    }


def refusal(made: StatementPlan) -> str:
    """Say why a statement is not run without more ado."""
    fixed = " and ".join(f"{name} = …" for name in made.partition)
    return (
        f"the statement would scan the whole {made.place}: its condition does not fix "
        f"{', '.join(made.missing)}. Let it say {fixed}, joined by AND and with text in single "
        "quotes; or ask with `adminview query`, or give --scan"
    )


def execute(
    client: "DynamoDBClient", made: StatementPlan, limit: int | None, cursor: str | None
) -> Iterator[tuple[list[Attributes], str | None]]:
    """Run a statement page by page, up to *limit* rows; each with where the next one begins."""
    left = limit
    while True:
        # DynamoDB counts the rows it looks at, so a page may hold fewer than this.
        more: dict[str, Any] = {"Limit": left} if left else {}
        more |= {"NextToken": cursor} if cursor else {}
        page = _call(client, Statement=made.statement, **more)
        found, cursor = [from_boto3(one) for one in page["Items"]], page.get("NextToken")
        yield found, cursor
        left = left - len(found) if left else None
        if not cursor or (left is not None and left <= 0):
            return


def _call(client: "DynamoDBClient", **asked: Any) -> Any:
    call = partial(client.execute_statement, **asked)
    try:
        return call_with_retry(call, "run the statement", Backoff(), Deadline.after(SECONDS))
    except ServiceError as error:
        cause = error.__cause__
        if not isinstance(cause, ClientError) or error.code != "ValidationException":
            raise
        msg = f"DynamoDB does not take the statement: {cause.response['Error']['Message']}"
        raise QuestionError(msg) from error


def _show(found: list[dict[str, Any]], cursor: str | None, *, json: bool, csv: bool) -> None:
    if json:
        print_json(text({"rows": found, "cursor": cursor}))
        return
    if csv:
        print_csv(rows.to_csv(found))
    else:
        rows.print_table(rows.to_table("", found))
    if cursor:
        rows.note(f"there is more: add --all, or --cursor {cursor}")
