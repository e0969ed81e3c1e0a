"""`adminview verify`: compare the view with its sources, and optionally repair it."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isfinite
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adminview.aws.clients import Clients
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.settings import Settings
from adminview.bulk.verify.run import VerifyRun
from adminview.bulk.verify.scope import MOST_SEGMENTS, Scope
from adminview.bulk.verify.totals import make_totals_verifier
from adminview.bulk.verify.verifier import GRACE_SECONDS, Verifier, make_verifier
from adminview.cli.bulk.verify_state import StateFile
from adminview.cli.bulk.verify_totals import DIFFERENT, EQUAL, UNFINISHED, compare_totals
from adminview.cli.dead_letters.files import dead_letter_sink
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import Throttled, check_deployed, check_model, find_settings
from adminview.cli.deployment.totals_lag import totals_lag
from adminview.cli.errors import EXPECTED_ERRORS, report_error
from adminview.cli.options import Json, MaxRcu, Prefix, Stage
from adminview.cli.output.printing import Console, print_traceback
from adminview.cli.output.progress import progress_bar
from adminview.cli.output.verify import STOPPED, as_data, show
from adminview.cli.shutdown import graceful_shutdown
from adminview.model import Registry
from adminview.model.errors import ServiceError, SettingsError
from adminview.views import registry

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

STATE = Path(".adminview-verify.json")


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    source: str | None = None
    segments: int = 4
    sample: float = 1.0
    repair: bool = False
    as_json: bool = False
    max_rcu: float | None = None
    grace: float = GRACE_SECONDS
    state: Path = STATE
    restart: bool = False
    totals: bool = False


@dataclass(frozen=True, slots=True)
class VerifyEnvironment:
    """Clock, randomness and stop request of a run."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep
    stopped: Callable[[], bool] = lambda: False
    random: Random | None = None
    check: Callable[[], object] = lambda: None  # raises if repairs must stop


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
    state: Annotated[Path, typer.Option(help="File that records the progress.")] = STATE,
    restart: Annotated[
        bool, typer.Option("--restart", help="Ignore the state file and start again.")
    ] = False,
    as_json: Json = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Compare the view with its sources, in both directions.

    It can be interrupted; the same command resumes it. With --totals, the command starts over,
    and totals that keep changing while they are compared stay undecided.

    Exit status: 0 equal, 1 differences are left, 2 not finished.
    """
    options = VerifyOptions(
        source, segments, sample, repair, as_json, max_rcu, grace, state, restart, totals
    )
    try:
        deployment = Deployment.from_options(stage, prefix, os.environ)
        settings = find_settings(registry(), deployment)
        check_model(registry(), settings)
        if totals and not deployment.local:
            _check_lag(totals_lag(deployment), grace)
        clients = Clients()
        with graceful_shutdown() as stop:
            recheck = partial(check_deployed, registry(), deployment)
            dependencies = VerifyEnvironment(
                sleep=stop.sleep, stopped=stop.event.is_set, check=Throttled(recheck)
            )
            status = compare(
                clients.dynamodb,
                registry(),
                settings,
                options,
                Console(),
                dependencies=dependencies,
            )
    except typer.BadParameter:
        raise
    except EXPECTED_ERRORS as error:
        report_error(error)
        status = UNFINISHED  # 1 would mean that there are differences
    except Exception:  # noqa: BLE001 - likewise
        print_traceback()
        status = UNFINISHED
    raise typer.Exit(status)


def compare(  # noqa: PLR0913 - all that a test replaces
    dynamodb: "DynamoDBClient",
    model: Registry,
    settings: Settings,
    options: VerifyOptions,
    console: Console,
    *,
    dependencies: VerifyEnvironment | None = None,
) -> int:
    """Run or resume a verification, print the result, and return the exit status."""
    dependencies = dependencies or VerifyEnvironment()
    if options.max_rcu is not None and not isfinite(options.max_rcu):
        msg = "give a finite number of read units per second"
        raise typer.BadParameter(msg, param_hint="--max-rcu")
    budget = RateLimiter(options.max_rcu, dependencies.clock, dependencies.sleep)
    how: dict[str, Any] = {
        "grace": options.grace,
        "clock": dependencies.clock,
        "sleep": dependencies.sleep,
        "stopped": dependencies.stopped,
        "check": dependencies.check,
    }
    if options.totals:
        scope = _totals_scope(settings, options)
        made = make_totals_verifier(model, settings.view_table, dynamodb, budget)
        return compare_totals(replace(made, **how), scope, model, console, as_json=options.as_json)
    verifier = replace(
        make_verifier(
            model, settings, dynamodb, budget, post=dead_letter_sink(settings, Clients())
        ),
        **how,
    )
    scope = Scope(
        settings.view_table,
        settings.model,
        options.source,
        options.segments,
        options.sample,
        options.repair,
        verifier.reader.place(settings.view_table, deadline=verifier.deadline()),
    )
    run = verifier.begin(scope, dependencies.random)
    file = StateFile(options.state, dependencies.clock)
    with file.locked():
        if options.restart:
            file.remove()
        if file.resume(run) and not options.as_json:
            console.print(f"resuming from {options.state}")
        trouble = _run(verifier, run, file)
    status = UNFINISHED if trouble else DIFFERENT if run.total["left"] else EQUAL
    if options.as_json:
        console.write_json(json.dumps(as_data(run, status, trouble), indent=2))
    else:
        show(run, status, trouble, console)
    return status


def _check_lag(lag: float | None, grace: float) -> None:
    """Raise a SettingsError if changes need longer than the grace period to reach their totals."""
    if lag is not None and lag > grace:
        msg = (
            f"the totals are {lag:.0f} seconds behind the rows, more than the grace period: verify "
            "when they have caught up, or set --grace"
        )
        raise SettingsError(msg)


def _totals_scope(settings: Settings, options: VerifyOptions) -> Scope:
    if options.source is not None:
        msg = "rows of all sources contribute to a total: leave --source out"
        raise typer.BadParameter(msg, param_hint="--source")
    return Scope(
        settings.view_table,
        settings.model,
        segments=options.segments,
        sample=options.sample,
        repair=options.repair,
    )


def _run(verifier: Verifier, run: VerifyRun, file: StateFile) -> str:
    """Run to the end and return "", or return why it stopped and keep the state file."""
    try:
        with progress_bar("items and rows", lambda: _expected(verifier, run), run.scanned) as move:
            file.watch = lambda now: move(now.scanned)
            replace(verifier, journal=file).verify(run)
    except ServiceError as error:
        file.note(run, since=inf)
        return str(error)
    except BaseException:
        file.note(run, since=inf)
        raise
    if not run.finished:
        file.note(run, since=inf)
        return STOPPED
    file.remove()
    return ""


def _expected(verifier: Verifier, run: VerifyRun) -> int | None:
    """Estimate the items and rows to scan; None if a table cannot be described."""
    sources = run.scope.sources(verifier.routes)
    tables = [verifier.view_table, *(verifier.routes[source].table for source in sources)]
    try:
        counts = [verifier.reader.count(table, deadline=verifier.deadline()) for table in tables]
    except ServiceError:
        return None
    return round(sum(counts) * run.scope.sample)
