"""`adminview reconcile` and `adminview explain`: one item, one row."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from json import dumps
from shlex import quote
from time import time
from typing import Annotated, Any

import typer

from adminview.aws.clients import Clients
from adminview.aws.deadline import Deadline
from adminview.cli.dead_letters.post import post_for
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import check_model, find_settings, known_source
from adminview.cli.options import Json, Prefix, Stage
from adminview.cli.output.printing import Console, print_json
from adminview.cli.output.tables import facts, plain
from adminview.model import Source
from adminview.model.errors import QuestionError, RowError
from adminview.model.item import AttributeValue, decode, normalize_number
from adminview.model.row import DATA, RECONCILED
from adminview.reconcile.explain import Explanation, Verdict
from adminview.reconcile.explain import explain as find_out
from adminview.reconcile.item_ref import target_by_key
from adminview.reconcile.reconciler import make_reconciler
from adminview.sync.decode import routes
from adminview.views import registry

SECONDS = 60.0


def reconcile(  # noqa: PLR0913 - the command's options
    source: Annotated[str, typer.Argument(help="The source, such as Orders.")],
    key: Annotated[list[str], typer.Argument(help="The item's key: partition, then sort.")],
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be written and deleted.")
    ] = False,
    json: Json = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Make one item's rows what its source says now. If it is stopped half-way, run it again."""
    deployment = Deployment.from_options(stage, prefix, os.environ)
    settings = find_settings(registry(), deployment)
    check_model(registry(), settings)
    clients = Clients()
    reconciler = make_reconciler(registry(), settings, clients, post_for(settings, clients))
    declared = known_source(registry(), source)
    by_source = {one.source: one for one in routes(registry(), settings.sources).values()}
    target = target_by_key(by_source[declared], key_of(declared, key))
    deadline = Deadline.after(SECONDS)
    told: dict[str, Any] = {"item": target.owner}
    if dry_run:
        plan = reconciler.plan(target, deadline=deadline)
        told |= {"would_put": sorted(plan.puts), "would_delete": sorted(plan.deletes)}
    else:
        done = reconciler.reconcile(target, deadline=deadline)
        told |= {"rows_put": done.put, "rows_deleted": done.deleted}
        if done.unchanged:
            told["note"] = "all its rows were right, or there is no such item and no row of it"
    if json:
        print_json(dumps(told))
    else:
        shown = {
            name.replace("_", " "): one if one != [] else "nothing" for name, one in told.items()
        }
        Console().print(facts("Reconciled" if not dry_run else "A dry run", shown))


def explain(
    pk: Annotated[str, typer.Argument(metavar="PK", help="The row's partition key.")],
    sk: Annotated[str, typer.Argument(metavar="SK", help="The row's sort key.")],
    *,
    json: Json = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Say why a row looks as it does; 1 if it is not what its source says now."""
    deployment = Deployment.from_options(stage, prefix, os.environ)
    settings = find_settings(registry(), deployment)
    reconciler = make_reconciler(registry(), settings, Clients())
    found = find_out(
        (pk, sk), routes(registry(), settings.sources), reconciler, deadline=Deadline.after(SECONDS)
    )
    if found is None:
        msg = (
            f"there is no row {pk} {sk} in {settings.view_table}. If an item should have it: "
            "adminview reconcile SOURCE KEY"
        )
        raise QuestionError(msg)
    told = explanation(found, time(), registry().fingerprint)
    if json:
        print_json(dumps(told | {"difference": list(found.difference)}, default=str))
    else:
        console = Console()
        console.print(facts(f"{pk}  {sk}", told))
        for line in found.difference:
            console.print(line, style=COLOURS.get(line[0]))
    if found.verdict is not Verdict.EQUAL:
        raise typer.Exit(1)


COLOURS = {"+": "green", "-": "red"}


def explanation(found: Explanation, now: float, model: str) -> dict[str, Any]:
    """Put what is known of a row into words."""
    at = found.changed_at
    moment = "nobody knows when" if at is None else f"{datetime.fromtimestamp(at, UTC):%FT%TZ}"
    wrote = "a reconcile" if found.sequence == RECONCILED else f"change {found.sequence or '?'}"
    age = "unknown" if at is None else f"{now - at:.0f} s since that change"
    view = found.view
    other = "" if found.model == model else f" (the view files here are {model})"
    return {
        "item": found.owner or "none",
        "written by": f"{wrote} of {moment}",
        "lag": "none: the view is level" if found.verdict is Verdict.EQUAL else age,
        "to put it right": _advice(found),
        "model": f"{found.model}{other}",
        "view": f"{view.name} in {view.module}" if view else _no_view(found),
        "this row is": str(found.verdict),
        "other rows": [" ".join(key) for key in found.others] or "none",
        "data": plain(decode(found.row[DATA])) if DATA in found.row else "none",
    }


def _advice(found: Explanation) -> str:
    """Name the command that helps."""
    source, *key = found.owner.split("/")
    match found.verdict:
        case Verdict.EQUAL:
            return "nothing to do"
        case Verdict.FAILING:
            return "fix and deploy the view, or fix the item"
        case Verdict.DIFFERENT if found.target:
            values = [value for typed in found.target.key.values() for value in typed.values()]
            return " ".join(["adminview reconcile", source, *(quote(one) for one in values or key)])
        case _:
            return "adminview verify --repair, which also finds the item that should have it"


def _no_view(found: Explanation) -> str:
    if found.problem:
        return found.problem
    views = found.target.route.views if found.target else ()
    names = ", ".join(f"{view.name} in {view.module}" for view in views)
    return f"none derives it now, of {names or 'none'}"


def key_of(source: Source, values: Sequence[str]) -> dict[str, AttributeValue]:
    """Read an item's key as it is typed: a value for each attribute."""
    if len(values) != len(source.key):
        names = " ".join(attribute.name for attribute in source.key)
        msg = f"an item of {source.name} is named by {names}; {len(values)} values were given"
        raise QuestionError(msg)
    return {
        attribute.name: {attribute.type: _number(value) if attribute.type == "N" else value}
        for attribute, value in zip(source.key, values, strict=True)
    }


def _number(typed: str) -> str:
    """Spell a number as DynamoDB does: an item's name is made of it."""
    try:
        return normalize_number(Decimal(typed))
    except (ArithmeticError, RowError) as error:
        msg = f"{typed!r} is not a number that DynamoDB can store"
        raise QuestionError(msg) from error
