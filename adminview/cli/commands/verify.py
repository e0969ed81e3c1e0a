"""Compare the view with its sources, and repair it if asked."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isfinite
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TimeRemainingColumn,
)

from adminview.aws.clients import Clients
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.settings import Settings
from adminview.bulk.verify.run import Run
from adminview.bulk.verify.scope import MOST_SEGMENTS, Scope
from adminview.bulk.verify.verifier import GRACE_SECONDS, Verifier, make_verifier
from adminview.cli.bulk.verify_state import StateFile
from adminview.cli.dead_letters.post import post_for
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import Throttled, check_deployed, check_model, find_settings
from adminview.cli.errors import EXPLAINED, report_error
from adminview.cli.options import Json, Prefix, Stage
from adminview.cli.output.printing import Console, print_traceback, progress_text
from adminview.cli.output.verify import STOPPED, as_data, show
from adminview.cli.shutdown import graceful_shutdown
from adminview.model import Registry
from adminview.model.errors import ServiceError, SettingsError
from adminview.views import registry

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

EQUAL, DIFFERENT, UNFINISHED = 0, 1, 2  # exit statuses
STATE = Path(".adminview-verify.json")


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """What the command was asked for."""

    source: str | None = None
    segments: int = 4
    sample: float = 1.0
    repair: bool = False
    as_json: bool = False
    max_rcu: float | None = None
    grace: float = GRACE_SECONDS
    state: Path = STATE
    restart: bool = False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What passes around a run: time, chance, and the wish to stop."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep
    stopped: Callable[[], bool] = lambda: False
    random: Random | None = None
    check: Callable[[], object] = lambda: None  # raises if nothing may be repaired any more


def verify(  # noqa: PLR0913 - a command's options
    *,
    source: Annotated[str | None, typer.Option(help="Only this source and its rows.")] = None,
    segment_count: Annotated[
        int, typer.Option(min=1, max=MOST_SEGMENTS, help="Segments per table, read at once.")
    ] = 4,
    sample: Annotated[float, typer.Option(help="Look at this share only, such as 0.01.")] = 1.0,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair", help="Reconcile what differs, and delete rows that are no item's."
        ),
    ] = False,
    max_rcu: Annotated[
        float | None, typer.Option(min=1, help="Read units per second to spend at most.")
    ] = None,
    grace: Annotated[
        float, typer.Option(min=0, help="Seconds that a change may be in flight.")
    ] = GRACE_SECONDS,
    state: Annotated[Path, typer.Option(help="Where to note how far it is.")] = STATE,
    restart: Annotated[
        bool, typer.Option("--restart", help="Forget the state file and begin anew.")
    ] = False,
    as_json: Json = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Compare the view with its sources, both ways: exit status 0 equal, 1 not, 2 not finished."""
    options = VerifyOptions(
        source, segment_count, sample, repair, as_json, max_rcu, grace, state, restart
    )
    try:
        deployment = Deployment.from_options(stage, prefix, os.environ)
        settings = find_settings(registry(), deployment)
        check_model(registry(), settings)
        clients = Clients()
        with graceful_shutdown() as stop:
            again = partial(check_deployed, registry(), deployment)
            around = Surroundings(
                sleep=stop.sleep, stopped=stop.event.is_set, check=Throttled(again)
            )
            status = compare(
                clients.dynamodb, registry(), settings, options, Console(), around=around
            )
    except typer.BadParameter:
        raise
    except EXPLAINED as error:
        report_error(error)
        status = UNFINISHED  # 1 would say that it had found differences
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
    around: Surroundings | None = None,
) -> int:
    """Run a verification, or go on with one; show what it found, and return the exit status."""
    around = around or Surroundings()
    if options.max_rcu is not None and not isfinite(options.max_rcu):
        msg = "--max-rcu is a number of read units per second"
        raise SettingsError(msg)
    budget = RateLimiter(options.max_rcu, around.clock, around.sleep)
    verifier = replace(
        make_verifier(model, settings, dynamodb, budget, post=post_for(settings, Clients())),
        grace=options.grace,
        clock=around.clock,
        sleep=around.sleep,
        stopped=around.stopped,
        check=around.check,
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
    run = verifier.begin(scope, around.random)
    file = StateFile(options.state, around.clock)
    with file.taken():
        if options.restart:
            file.remove()
        if file.resume(run) and not options.as_json:
            console.print(f"going on from {options.state}")
        trouble = _run(verifier, run, file)
    status = UNFINISHED if trouble else DIFFERENT if run.total["left"] else EQUAL
    if options.as_json:
        console.write_json(json.dumps(as_data(run, status, trouble), indent=2))
    else:
        show(run, status, trouble, console)
    return status


def _run(verifier: Verifier, run: Run, file: StateFile) -> str:
    """Go on until the end, and say what came before it; the file is left only then."""
    try:
        with _bar(verifier, run) as watch:
            file.watch = watch
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


@contextmanager
def _bar(verifier: Verifier, run: Run) -> Iterator[Callable[[Run], None]]:
    """Show how far a run is, on a terminal; the output itself stays clean."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    columns = (
        progress_text("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        progress_text("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        about = _expected(verifier, run)
        task = progress.add_task("items and rows", total=about, completed=run.scanned)
        yield lambda now: progress.update(
            task, completed=now.scanned, total=about and max(about, now.scanned)
        )


def _expected(verifier: Verifier, run: Run) -> int | None:
    """Reckon how much there is to scan; not to know it stops nobody."""
    sources = run.scope.sources(verifier.routes)
    tables = [verifier.view_table, *(verifier.routes[source].table for source in sources)]
    try:
        counts = [verifier.reader.count(table, deadline=verifier.deadline()) for table in tables]
    except ServiceError:
        return None
    return round(sum(counts) * run.scope.sample)
