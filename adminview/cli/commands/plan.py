"""`adminview plan` and `adminview apply`: roll out the declared model."""

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

from adminview.aws.boto3_clients import streams_client
from adminview.aws.endpoints import ENDPOINT
from adminview.bulk.runs import Bulk
from adminview.bulk.totals_probes import TotalsProbes
from adminview.cli.bulk.segment_pool import Limits, RunOptions, connect
from adminview.cli.commands.backfill import Segments, Tolerate, execute_run
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.facts import Deployed
from adminview.cli.deployment.find import (
    check_deployed,
    check_model,
    check_streams,
    find_settings,
)
from adminview.cli.deployment.read import Tables, reader_of, tables_of
from adminview.cli.model_lock.lock import LOCK, Lock
from adminview.cli.options import Json, MaxRcu, MaxWcu, Prefix, Stage, Yes
from adminview.cli.output.printing import Console, TextTable, confirm, doing, echo, joined, styled
from adminview.cli.planning.apply import BulkBuilder, PlanError, PlanRunner
from adminview.cli.planning.cdk import CdkDeployer
from adminview.cli.planning.planner import LONGEST_WRITE, make_plan
from adminview.cli.planning.record import PlanRecord
from adminview.cli.planning.sample import find_moved_rows
from adminview.cli.planning.steps import Plan
from adminview.cli.shutdown import Shutdown, graceful_shutdown
from adminview.model.errors import SettingsError
from adminview.model.readiness import progress_table
from adminview.views import registry

DONE, REFUSED, UNFINISHED = 0, 1, 2  # exit statuses
READY = "the declared model is deployed, and all its access patterns are ready"
NOTHING = f"nothing to do: {READY}"
AGAIN = "stopped; nothing is lost: the same command resumes here"

Against = Annotated[
    Path | None,
    typer.Option(
        help=f"File with the deployed model, such as {LOCK}, if the stacks do not record it."
    ),
]
Longest = Annotated[
    float,
    typer.Option(
        "--wait", min=0, help="Seconds to wait until functions with the old code have ended."
    ),
]

PeakWcu = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Write units per second that the view must take at once: in a backfill, or at its "
        "peak. Adds a step that raises its warm throughput, for which AWS charges once.",
    ),
]
Stale = Annotated[
    bool,
    typer.Option(
        "--stale-until-swept", help="Let queries return rows of old views until the sweep."
    ),
]


def plan(  # noqa: PLR0913 - a command's options
    *,
    against: Against = None,
    wait: Longest = LONGEST_WRITE,
    peak_wcu: PeakWcu = None,
    stale: Stale = False,
    as_json: Json = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Print the steps that roll out the declared model. Changes nothing.

    Exit status: 0 planned, or nothing to do; 1 refused, with the reason.
    """
    deployment = Deployment.from_options(stage, prefix)
    model = registry().description()
    doing("reading the deployment")
    deployed = reader_of(deployment, against).read(model)
    planned = make_plan(deployed, model, time.time(), longest=wait, peak=peak_wcu)
    if refusals := _more_refusals(deployment, deployed, planned, stale=stale):
        planned = replace(planned, steps=(), refusals=refusals)
    show(planned, Console(), as_json=as_json)
    raise typer.Exit(REFUSED if planned.refusals else DONE)


def apply(  # noqa: PLR0913 - a command's options
    *,
    yes: Yes = False,
    against: Against = None,
    wait: Longest = LONGEST_WRITE,
    peak_wcu: PeakWcu = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print all output of cdk.")] = False,
    segments: Segments = None,
    max_rcu: MaxRcu = None,
    max_wcu: MaxWcu = None,
    tolerate: Tolerate = 0,  # an access pattern with missing rows must not become ready
    stale: Stale = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Roll out the declared model: CDK deployments, backfills between them, and a sweep.

    Existing access patterns stay available. New ones are rejected until they
    are backfilled. Ctrl-C stops after the current step, or within a backfill.
    The same command resumes it, on any machine.

    Exit status: 0 done, 1 refused or failed, 2 stopped.
    """
    deployment = Deployment.from_options(stage, prefix)
    if deployment.local:
        msg = (
            f"there are no stacks to deploy at {os.environ.get(ENDPOINT)}: name a deployment with "
            "--stage. There, `adminview dev` rebuilds the rows when a view file changes"
        )
        raise SettingsError(msg)
    model = registry().description()
    stop = Shutdown()
    options = RunOptions(segments, tolerate)
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
            probes=lambda: TotalsProbes(tables.client, streams_client(), tables.view),
        ),
        builder=_builder(deployment, tables, stop, options, Limits(max_rcu, max_wcu)),
        now=time.time,
        sleep=stop.sleep,
        longest=wait,
        peak=peak_wcu,
        stopped=stop.event.is_set,
        notify=_announce,
        record=PlanRecord(tables.client, progress_table(tables.view), registry().fingerprint).write,
    )
    doing("reading the deployment")
    deployed = reader_of(deployment, against).read(model)
    planned = application.plan(deployed)
    if refusals := _more_refusals(deployment, deployed, planned, stale=stale):
        show(Plan((), refusals, ()), Console(), as_json=False)
        raise typer.Exit(REFUSED)
    confirmation = None if yes else confirm
    status = carry_out(
        application, deployed, Console(), confirmation, partial(graceful_shutdown, stop)
    )
    raise typer.Exit(status)


def carry_out(
    application: PlanRunner,
    deployed: Deployed,
    console: Console,
    confirm: Callable[[str], bool] | None,
    working: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> int:
    """Print the plan, ask for confirmation, carry it out, and return the exit status.

    After a prompt the deployment is read again, because it may have changed meanwhile. Only work
    within *working* is stopped gracefully; at the prompt, Ctrl-C ends the command.
    """
    planned = application.plan(deployed)
    show(planned, console, as_json=False)
    if planned.refusals:
        return REFUSED
    if not planned.steps:
        return DONE
    if confirm and not confirm(_prompt(planned)):
        return UNFINISHED
    try:
        with working():
            finished = application.apply(planned.destroyed, None if confirm else deployed)
    except PlanError as error:
        console.print(f"stopped: {error}", style="red", soft_wrap=True)
        return REFUSED
    console.print(f"done: {READY}" if finished else AGAIN)
    return DONE if finished else UNFINISHED


def show(planned: Plan, console: Console, *, as_json: bool) -> None:
    if as_json:
        console.write_json(json.dumps(planned.data(), indent=2))
        return
    for refusal in planned.refusals:
        console.print(joined(" ", [styled("refused:", "red"), refusal]), soft_wrap=True)
    if not planned.steps and not planned.refusals:
        console.print(NOTHING)
    if planned.steps:
        steps = TextTable("The plan")
        steps.add_column("", justify="right")
        steps.add_column("step", overflow="fold")
        steps.add_column("because", overflow="fold", style="dim")
        for number, step in enumerate(planned.steps, start=1):
            style = "bold" if step.destroys else ""
            steps.add_row(str(number), step.title, step.reason, style=style)
        console.print(steps)
    for note in planned.notes:
        console.print(f"note: {note}", soft_wrap=True)


def _announce(step: str) -> None:
    """Print the title of a step, and display it while the step is silent."""
    echo(step)
    doing(step)


def _more_refusals(
    deployment: Deployment, deployed: Deployed, planned: Plan, *, stale: bool
) -> tuple[str, ...]:
    """Return the reasons to refuse a plan that the deployed stacks do not show."""
    reused = tuple(Lock().reused_epochs(registry().description()))
    return reused or (() if stale else _stale_rows(deployment, deployed, planned))


def _stale_rows(deployment: Deployment, deployed: Deployed, planned: Plan) -> tuple[str, ...]:
    if deployment.local:
        return ()
    settings = partial(find_settings, registry(), deployment)
    return find_moved_rows(registry(), deployed, planned, settings)


def _prompt(planned: Plan) -> str:
    lost = f" It will {', and '.join(sorted(planned.destroyed))}." if planned.destroyed else ""
    return f"{len(planned.steps)} steps.{lost} Continue?"


def _builder(
    deployment: Deployment, tables: Tables, stop: Shutdown, options: RunOptions, limits: Limits
) -> BulkBuilder:
    """Return a builder that reads the deployed settings again before each bulk run."""
    check = partial(check_deployed, registry(), deployment)

    def bulk() -> Bulk:
        settings = find_settings(registry(), deployment.fresh())
        check_model(registry(), settings)
        return connect(registry(), settings, limits, check)

    return BulkBuilder(
        bulk,
        tables.progress,
        registry().description(),
        partial(execute_run, options=options, stop=stop),
        lambda sources: check_streams(deployment.fresh(), sources),
    )
