"""`adminview verify`: compare the view with its sources, and optionally repair it."""

import json
import os
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Annotated

import typer

from adminview.aws.deadline import Deadline
from adminview.aws.settings import BACKFILL_MACHINE_OUTPUT
from adminview.bulk.runs import EVERYTHING, VERIFY, Bulk
from adminview.bulk.segment import MOST_SEGMENTS
from adminview.bulk.verification import Verification
from adminview.bulk.verify.phases import OF_TOTALS, VERIFY_TOTALS, phase_of
from adminview.bulk.verify.scope import GRACE_SECONDS, Scope
from adminview.cli.bulk.segment_pool import Limits, RunOptions, SegmentPool, connect
from adminview.cli.bulk.state_machine import ExecutionRequest, as_event
from adminview.cli.commands.backfill import Deployed, Restart, expected_items, run_on_aws
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import (
    Throttled,
    check_deployed,
    check_model,
    find_settings,
    known_source,
)
from adminview.cli.deployment.stacks import RECOVERY
from adminview.cli.deployment.totals_lag import totals_lag
from adminview.cli.options import Json, MaxRcu, Prefix, Stage
from adminview.cli.output.bulk import progress
from adminview.cli.output.errors import exit_on_error
from adminview.cli.output.printing import Console, echo
from adminview.cli.output.verify import VerifyResult, as_data, show
from adminview.cli.output.verify_totals import as_data as totals_as_data
from adminview.cli.output.verify_totals import show as show_totals
from adminview.cli.shutdown import Shutdown, graceful_shutdown
from adminview.model.errors import SettingsError
from adminview.views import registry

PATIENCE_SECONDS = 60.0
EQUAL, DIFFERENT, UNFINISHED = 0, 1, 2  # exit statuses


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """What to verify, and how to print the result."""

    scope: Scope
    source: str | None = None
    restart: bool = False
    as_json: bool = False
    totals: bool = False

    def of(self, bulk: Bulk) -> Verification:
        """Return the verification that these options mean."""
        kind = VERIFY_TOTALS if self.totals else VERIFY
        return Verification(bulk, self.subject, kind=kind)

    @property
    def subject(self) -> str:
        return EVERYTHING if self.source is None else self.source


@exit_on_error(UNFINISHED)  # 1 would mean that there are differences
def verify(  # noqa: PLR0913 - a command's options
    *,
    totals: Annotated[
        bool,
        typer.Option(
            "--totals", help="Compare totals with rows instead. This reads the whole view."
        ),
    ] = False,
    source: Annotated[str | None, typer.Option(help="Only this source and its rows.")] = None,
    segments: Annotated[
        int, typer.Option(min=1, max=MOST_SEGMENTS, help="Segments of a parallel scan, per table.")
    ] = 4,
    sample: Annotated[
        float,
        typer.Option(
            "--share",
            metavar="SHARE",
            help="Share of items and rows, or of totals, to compare, such as 0.01.",
        ),
    ] = 1.0,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Reconcile differing items, and delete rows that no item owns. With --totals: "
            "let totals that no declaration uses expire; differing totals stay as they are.",
        ),
    ] = False,
    max_rcu: MaxRcu = None,
    grace: Annotated[
        float, typer.Option(min=0, help="Seconds that a change may take to reach the view.")
    ] = GRACE_SECONDS,
    restart: Restart = False,
    deployed: Deployed = False,
    as_json: Json = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Compare the view with its sources, in both directions.

    It can be interrupted; the same command resumes it. Totals that change
    while they are compared stay undecided.

    Exit status: 0 equal, 1 differences are left, 2 not finished.
    """
    if max_rcu is not None and not isfinite(max_rcu):
        msg = "give a finite number of read units per second"
        raise typer.BadParameter(msg, param_hint="--max-rcu")
    scope = Scope(segments, sample, repair, grace).check()
    _check_source(source, totals=totals)
    deployment = Deployment.from_options(stage, prefix, os.environ)
    settings = find_settings(registry(), deployment)
    check_model(registry(), settings)
    check = Throttled(partial(check_deployed, registry(), deployment))
    if totals and not deployment.local:
        _check_lag(totals_lag(deployment), grace)
    options = VerifyOptions(scope, source, restart, as_json, totals)
    bulk = connect(registry(), settings, Limits(max_rcu), check)
    if deployed:
        machine = deployment.output(RECOVERY, BACKFILL_MACHINE_OUTPUT)
        status = verify_on_aws(bulk, options, machine, Limits(max_rcu))
    else:
        with graceful_shutdown() as stop:
            status = verify_here(bulk, options, stop, Console())
    raise typer.Exit(status)


def verify_here(bulk: Bulk, options: VerifyOptions, stop: Shutdown, console: Console) -> int:
    """Run or resume a verification, print the result, and return the exit status."""
    verification, trouble = options.of(bulk), ""
    for run in verification.left(options.scope, deadline=_soon(), restart=options.restart):
        scope = verification.scope_of(run, options.scope, deadline=_soon())
        with progress(run, _expected(bulk, run, scope)) as watch:
            pool = SegmentPool(bulk, run, stop, 0, watch, partial(echo, err=True))
            trouble = pool.work(scope=scope, restart=options.restart).trouble
        if trouble:
            break
    return _report(verification, options, trouble, console)


def verify_on_aws(bulk: Bulk, options: VerifyOptions, machine: str, limits: Limits) -> int:
    """Verify in the state machine, print the result, and return the exit status."""
    verification, scope = options.of(bulk), options.scope
    event = {
        **as_event(RunOptions(scope.segments, restart=options.restart), limits),
        "task": verification.kind,
        "sources": options.source and [options.source],
        "sample": scope.sample,
        "grace": scope.grace,
        "repair": scope.repair,
    }
    tables = [table for run in verification.runs for table in bulk.tables(run)]
    request = ExecutionRequest(event, verification.runs, tables)
    outcomes = run_on_aws(machine, bulk.settings, request)
    trouble = next((outcome.trouble for outcome in outcomes if outcome.trouble), "")
    return _report(verification, options, trouble, Console())


def _report(
    verification: Verification, options: VerifyOptions, trouble: str, console: Console
) -> int:
    report = verification.report(deadline=_soon())
    different = report.total["differing" if options.totals else "left"]
    status = UNFINISHED if trouble else DIFFERENT if different else EQUAL
    result = VerifyResult(options.scope, options.source, report, status, trouble)
    model = verification.bulk.registry
    if options.as_json:
        data = totals_as_data(result, model) if options.totals else as_data(result)
        console.write_json(json.dumps(data, indent=2))
    elif options.totals:
        show_totals(result, model, console)
    else:
        show(result, console)
    return status


def _expected(bulk: Bulk, run: str, scope: Scope) -> int | None:
    """Estimate the items, rows or totals to read; None if a table cannot be described."""
    expected = expected_items(bulk, run)
    share = 1.0 if phase_of(run) in OF_TOTALS else scope.sample
    return None if expected is None else round(expected * share)


def _check_source(source: str | None, *, totals: bool) -> None:
    """Refuse a source that is not declared, and any source with totals."""
    if source is not None:
        known_source(registry(), source)
    if source is not None and totals:
        msg = "rows of all sources contribute to a total: leave --source out"
        raise typer.BadParameter(msg, param_hint="--source")


def _check_lag(lag: float | None, grace: float) -> None:
    """Raise a SettingsError if changes need longer than the grace period to reach their totals."""
    if lag is not None and lag > grace:
        msg = (
            f"the totals are {lag:.0f} seconds behind the rows, more than the grace period: verify "
            "when they have caught up, or set --grace"
        )
        raise SettingsError(msg)


def _soon() -> Deadline:
    return Deadline.after(PATIENCE_SECONDS)
