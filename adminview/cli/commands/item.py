"""`adminview reconcile` for one item, `adminview explain` for one row."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from json import dumps
from time import time
from typing import Annotated, Any

import typer

from adminview.aws.clients import Clients
from adminview.aws.deadline import Deadline
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import check_model, find_settings, known_source
from adminview.cli.options import Json, Prefix, Stage
from adminview.cli.output.printing import Console, print_json
from adminview.cli.output.tables import facts, plain
from adminview.cli.private_files import dead_letter_sink
from adminview.model import Registry, Source
from adminview.model.errors import QueryError, RowError
from adminview.model.item import AttributeValue, decode, normalize_number
from adminview.model.row import DATA, RECONCILED
from adminview.reconcile.explain import Explanation, Verdict, advice
from adminview.reconcile.explain import explain as explain_row
from adminview.reconcile.item_ref import target_by_key
from adminview.reconcile.reconciler import make_reconciler
from adminview.sync.decode import routes
from adminview.totals.comparison import describe_contributions
from adminview.views import registry

SECONDS = 60.0


def reconcile(  # noqa: PLR0913 - the command's options
    source: Annotated[str, typer.Argument(help="Name of the source, such as Orders.")],
    key: Annotated[
        list[str], typer.Argument(help="Key of the item: partition key, then sort key.")
    ],
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be written and deleted.")
    ] = False,
    json: Json = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Make the rows of one item match its current source item.

    If it is interrupted, run it again.
    """
    deployment = Deployment.from_options(stage, prefix)
    settings = find_settings(registry(), deployment)
    check_model(registry(), settings)
    clients = Clients()
    reconciler = make_reconciler(registry(), settings, clients, dead_letter_sink(settings, clients))
    declared = known_source(registry(), source)
    by_source = {route.source: route for route in routes(registry(), settings.sources).values()}
    target = target_by_key(by_source[declared], key_of(declared, key))
    deadline = Deadline.after(SECONDS)
    report: dict[str, Any] = {"item": target.owner}
    if dry_run:
        plan = reconciler.plan(target, deadline=deadline)
        report |= {"would_put": sorted(plan.puts), "would_delete": sorted(plan.deletes)}
    else:
        done = reconciler.reconcile(target, deadline=deadline)
        report |= {"rows_put": done.put, "rows_deleted": done.deleted}
        if done.unchanged:
            report["note"] = (
                "nothing to repair: its rows are correct, or it does not exist and has no rows"
            )
    if json:
        print_json(dumps(report))
    else:
        lines = {
            name.replace("_", " "): value if value != [] else "nothing"
            for name, value in report.items()
        }
        Console().print(facts("Reconciled" if not dry_run else "Dry run", lines))


def explain(
    pk: Annotated[str, typer.Argument(metavar="PK", help="Partition key of the row.")],
    sk: Annotated[str, typer.Argument(metavar="SK", help="Sort key of the row.")],
    *,
    json: Json = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Explain where a row came from.

    Exit status: 0 the row matches its source item, 1 it differs.
    """
    deployment = Deployment.from_options(stage, prefix)
    settings = find_settings(registry(), deployment)
    reconciler = make_reconciler(registry(), settings, Clients())
    explanation = explain_row(
        (pk, sk), routes(registry(), settings.sources), reconciler, deadline=Deadline.after(SECONDS)
    )
    if explanation is None:
        msg = (
            f"there is no row {pk} {sk} in {settings.view_table}. If an item should have it, run "
            "adminview reconcile SOURCE KEY"
        )
        raise QueryError(msg)
    report = describe(explanation, time(), registry())
    if json:
        print_json(dumps(report | {"difference": list(explanation.difference)}, default=str))
    else:
        console = Console()
        console.print(facts(f"{pk}  {sk}", report))
        for line in explanation.difference:
            console.print(line, style=COLOURS.get(line[0]))
    if explanation.verdict is not Verdict.EQUAL:
        raise typer.Exit(1)


COLOURS = {"+": "green", "-": "red"}


def describe(explanation: Explanation, now: float, model: Registry) -> dict[str, Any]:
    """Return what is known of a row, with the command that repairs it."""
    at = explanation.changed_at
    moment = "an unknown time" if at is None else f"{datetime.fromtimestamp(at, UTC):%FT%TZ}"
    wrote = (
        "a reconcile"
        if explanation.sequence == RECONCILED
        else f"change {explanation.sequence or '?'}"
    )
    age = "unknown" if at is None else f"{now - at:.0f} s since that change"
    view = explanation.view
    current = model.fingerprint
    other = "" if explanation.model == current else f" (your checkout is {current})"
    return {
        "item": explanation.owner or "none",
        "written by": f"{wrote} of {moment}",
        "lag": "none: the row is up to date" if explanation.verdict is Verdict.EQUAL else age,
        "repair": advice(explanation),
        "model": f"{explanation.model}{other}",
        "view": f"{view.name} in {view.module}" if view else _no_view(explanation),
        "this row is": str(explanation.verdict),
        "other rows": [" ".join(key) for key in explanation.others] or "none",
        "contributes to": describe_contributions(explanation.row, model.totals) or "no totals",
        "data": plain(decode(explanation.row[DATA])) if DATA in explanation.row else "none",
    }


def _no_view(explanation: Explanation) -> str:
    if explanation.problem:
        return explanation.problem
    views = explanation.target.route.views if explanation.target else ()
    names = ", ".join(f"{view.name} in {view.module}" for view in views)
    return f"none of {names or 'no views'} derives it now"


def key_of(source: Source, values: Sequence[str]) -> dict[str, AttributeValue]:
    """Return a typed key, with one value per key attribute."""
    if len(values) != len(source.key):
        names = ", then ".join(attribute.name for attribute in source.key)
        number = "1 value was" if len(values) == 1 else f"{len(values)} values were"
        msg = f"the key of an item of {source.name} is {names}; {number} given"
        raise QueryError(msg)
    return {
        attribute.name: {attribute.type: _number(value) if attribute.type == "N" else value}
        for attribute, value in zip(source.key, values, strict=True)
    }


def _number(text: str) -> str:
    """Write a number as DynamoDB does, because it becomes part of the owner."""
    try:
        return normalize_number(Decimal(text))
    except (ArithmeticError, RowError) as error:
        msg = f"{text!r} is not a number that DynamoDB can store"
        raise QueryError(msg) from error
