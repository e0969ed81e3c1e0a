"""`adminview plan` and `adminview apply`: from what is deployed to what the view files declare."""

import json
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from adminview.bulk.runs import Bulk
from adminview.cli.bulk.segment_pool import Limits, RunOptions, connect
from adminview.cli.commands.backfill import MaxRcu, MaxWcu, Segments, Tolerate, go_through
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.facts import Deployed
from adminview.cli.deployment.find import (
    check_deployed,
    check_model,
    check_streams,
    find_settings,
)
from adminview.cli.deployment.read import Tables, reader_of, tables_of
from adminview.cli.model_lock.lock import LOCK
from adminview.cli.options import Json, Prefix, Stage
from adminview.cli.output.printing import Console, confirm, echo, joined, styled
from adminview.cli.output.tables import table
from adminview.cli.planning.apply import BulkBuilder, PlanError, PlanRunner
from adminview.cli.planning.cdk import CdkDeployer
from adminview.cli.planning.planner import LONGEST_WRITE, make_plan
from adminview.cli.planning.sample import find_moved_rows
from adminview.cli.planning.steps import Plan
from adminview.cli.shutdown import Shutdown, graceful_shutdown
from adminview.local.settings import ENDPOINT
from adminview.model.errors import SettingsError
from adminview.views import registry

DONE, REFUSED, UNFINISHED = 0, 1, 2  # exit statuses
NOTHING = "nothing to do: what is declared is deployed, built and switched on"
AGAIN = "stopped; nothing is lost: the same command goes on from here"

Against = Annotated[
    Path | None,
    typer.Option(
        help=f"A description such as {LOCK} of the deployed model, where stacks do not tell it."
    ),
]
Longest = Annotated[
    float,
    typer.Option(
        "--wait", min=0, help="Seconds for which functions of the old code may still write."
    ),
]

Stale = Annotated[
    bool,
    typer.Option(
        "--stale-until-swept", help="Let questions show rows of the old views until the sweep."
    ),
]


def plan(  # noqa: PLR0913 - a command's options
    *,
    against: Against = None,
    wait: Longest = LONGEST_WRITE,
    stale: Stale = False,
    as_json: Json = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Print the steps from what is deployed to what the view files declare, and do none of them.

    Exit status: 0, or 1 if there is no way and why.
    """
    deployment = Deployment.from_options(stage, prefix, os.environ)
    model = registry().description()
    deployed = reader_of(deployment, against).read(model)
    made = make_plan(deployed, model, time.time(), longest=wait)
    if not stale and (found := _left_behind(deployment, deployed, made)):
        made = replace(made, steps=(), refusals=found)
    show(made, Console(), as_json=as_json)
    raise typer.Exit(REFUSED if made.refusals else DONE)


def apply(  # noqa: PLR0913 - a command's options
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
    against: Against = None,
    wait: Longest = LONGEST_WRITE,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show all that cdk says.")] = False,
    segments: Segments = None,
    max_rcu: MaxRcu = None,
    max_wcu: MaxWcu = None,
    tolerate: Tolerate = 0,  # a question whose rows cannot be built is not to be switched on
    stale: Stale = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Carry the plan out: several deployments with CDK, backfills between them, a sweep.

    Every old question is answered all the time, and a new one is refused until it can be. Ctrl-C
    stops after the step in hand, or within a backfill; the same command goes on, on any machine.
    Exit status: 0 done, 1 refused or failed, 2 stopped.
    """
    deployment = Deployment.from_options(stage, prefix, os.environ)
    if deployment.local:
        msg = (
            f"there are no stacks to deploy at {os.environ.get(ENDPOINT)}: name a deployment with "
            "--stage, or start `adminview local` with the new view files and use `backfill`"
        )
        raise SettingsError(msg)
    model = registry().description()
    stop = Shutdown()
    asked = RunOptions(segments, tolerate)
    tables = tables_of(deployment)
    application = PlanRunner(
        model=model,
        read=lambda model: reader_of(deployment.fresh(), against).read(model),
        deployer=CdkDeployer(
            deployment.stage,
            prefix,
            tables,
            sleep=stop.sleep,
            show=partial(echo, err=True) if verbose else lambda _: None,
        ),
        builder=_builder(deployment, tables, stop, asked, Limits(max_rcu, max_wcu)),
        now=time.time,
        sleep=stop.sleep,
        longest=wait,
        stopped=stop.event.is_set,
        say=echo,
    )
    deployed = reader_of(deployment, against).read(model)
    found = () if stale else _left_behind(deployment, deployed, application.plan(deployed))
    if found:
        show(Plan((), found, ()), Console(), as_json=False)
        raise typer.Exit(REFUSED)
    agree = None if yes else confirm
    status = carry_out(application, deployed, Console(), agree, partial(graceful_shutdown, stop))
    raise typer.Exit(status)


def carry_out(
    application: PlanRunner,
    deployed: Deployed,
    console: Console,
    confirm: Callable[[str], bool] | None,
    working: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> int:
    """Show the plan from what is *deployed*, ask, and carry it out; return the exit status.

    After a prompt the deployment is read again: it may have changed while somebody thought about
    it. Only what is done within *working* is stopped in order: at a prompt, Ctrl-C ends the
    command.
    """
    made = application.plan(deployed)
    show(made, console, as_json=False)
    if made.refusals:
        return REFUSED
    if not made.steps:
        return DONE
    if confirm and not confirm(_question(made)):
        return UNFINISHED
    try:
        with working():
            finished = application.apply(made.destroyed, None if confirm else deployed)
    except PlanError as error:
        console.print(f"stopped: {error}", style="red", soft_wrap=True)
        return REFUSED
    console.print(NOTHING.replace("nothing to do", "done") if finished else AGAIN)
    return DONE if finished else UNFINISHED


def show(made: Plan, console: Console, *, as_json: bool) -> None:
    """Print a plan."""
    if as_json:
        console.write_json(json.dumps(made.data(), indent=2))
        return
    for refusal in made.refusals:
        console.print(joined(" ", [styled("no way:", "red"), refusal]), soft_wrap=True)
    if not made.steps and not made.refusals:
        console.print(NOTHING)
    if made.steps:
        shown = table("The plan")
        shown.add_column("", justify="right")
        shown.add_column("step", overflow="fold")
        shown.add_column("because", overflow="fold", style="dim")
        for number, step in enumerate(made.steps, start=1):
            style = "bold" if step.destroys else ""
            shown.add_row(str(number), step.title, step.reason, style=style)
        console.print(shown)
    for note in made.notes:
        console.print(f"note: {note}", soft_wrap=True)


def _left_behind(deployment: Deployment, deployed: Deployed, made: Plan) -> tuple[str, ...]:
    if deployment.local:
        return ()
    settings = partial(find_settings, registry(), deployment)
    return find_moved_rows(registry(), deployed, made, settings)


def _question(made: Plan) -> str:
    lost = f" It will {', and '.join(sorted(made.destroyed))}." if made.destroyed else ""
    return f"{len(made.steps)} steps.{lost} Go on?"


def _builder(
    deployment: Deployment, tables: Tables, stop: Shutdown, asked: RunOptions, limits: Limits
) -> BulkBuilder:
    """Make what goes through whole tables; each time it reads what is deployed by then."""
    check = partial(check_deployed, registry(), deployment)

    def bulk() -> Bulk:
        settings = find_settings(registry(), deployment.fresh())
        check_model(registry(), settings)
        return connect(registry(), settings, limits, check)

    return BulkBuilder(
        bulk,
        tables.progress,
        registry().fingerprint,
        partial(go_through, asked=asked, stop=stop),
        lambda sources: check_streams(deployment.fresh(), sources),
    )
