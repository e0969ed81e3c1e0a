"""`adminview backfill` and `adminview sweep`: fill the view, and remove stale rows."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import boto3
import typer

from adminview.aws.clients import Clients
from adminview.aws.deadline import Deadline
from adminview.aws.settings import BACKFILL_MACHINE_OUTPUT, Settings
from adminview.aws.table_scanner import TableScanner
from adminview.bulk.lease_table import LeaseTable
from adminview.bulk.runs import BACKFILL, EVERYTHING, SWEEP, Bulk
from adminview.bulk.segment import MOST_SEGMENTS
from adminview.bulk.worker import SegmentWorker
from adminview.cli.bulk.segment_pool import Limits, RunOptions, SegmentOutcome, SegmentPool, connect
from adminview.cli.bulk.state_machine import ExecutionFollower, ExecutionRequest, as_event
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import (
    check_deployed,
    check_model,
    check_streams,
    find_settings,
    known_source,
)
from adminview.cli.deployment.stacks import RECOVERY
from adminview.cli.options import Json, MaxRcu, MaxWcu, Prefix, Stage
from adminview.cli.output.bulk import UNFINISHED, progress, report
from adminview.cli.output.errors import exit_on_error
from adminview.cli.output.printing import echo
from adminview.cli.private_files import LETTERS
from adminview.cli.shutdown import Shutdown, graceful_shutdown
from adminview.model.errors import ServiceError
from adminview.model.readiness import progress_table
from adminview.views import registry

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Sources = Annotated[
    list[str] | None, typer.Option("--source", help="Only this source; may be repeated.")
]
Segments = Annotated[
    int | None,
    typer.Option(min=1, max=MOST_SEGMENTS, help="Segments of a parallel scan (default: 16)."),
]
Tolerate = Annotated[int, typer.Option(min=0, help="Stop when more items than this have failed.")]
Restart = Annotated[
    bool, typer.Option("--restart", help="Ignore earlier progress and start again.")
]
Deployed = Annotated[
    bool,
    typer.Option("--deployed", help="Run on AWS: start the state machine and follow its progress."),
]


def _command(kind: str, about: str) -> Callable[..., None]:
    @exit_on_error(UNFINISHED)
    def command(  # noqa: PLR0913 - a command's options
        *,
        source: Sources = None,
        segments: Segments = None,
        max_rcu: MaxRcu = None,
        max_wcu: MaxWcu = None,
        tolerate: Tolerate = 100,
        restart: Restart = False,
        deployed: Deployed = False,
        as_json: Json = False,
        stage: Stage = None,
        prefix: Prefix = "",
    ) -> None:
        for name in source or ():
            known_source(registry(), name)
        deployment = Deployment.from_options(stage, prefix, os.environ)
        settings = find_settings(registry(), deployment)
        everything = [EVERYTHING] if kind == SWEEP else [*settings.sources]
        subjects = list(dict.fromkeys(source or everything))
        options, limits = RunOptions(segments, tolerate, restart, as_json), Limits(max_rcu, max_wcu)
        check_model(registry(), settings)
        if deployed:
            event = {"task": kind, "sources": source, **as_event(options, limits)}
            machine = deployment.output(RECOVERY, BACKFILL_MACHINE_OUTPUT)
            outcomes = run_on_aws(machine, settings, _order(settings, event, subjects))
            report(outcomes, as_json=as_json)
        check = partial(check_deployed, registry(), deployment)
        bulk = connect(registry(), settings, limits, check)
        runs = [bulk.run(kind, subject) for subject in subjects]
        if kind == BACKFILL:
            check_streams(deployment, subjects)
        execute_runs(bulk, runs, options)

    command.__name__, command.__doc__ = kind, about
    return command


def _order(
    settings: Settings, event: Mapping[str, Any], subjects: Sequence[str]
) -> ExecutionRequest:
    tables = [settings.sources.get(subject, subject) for subject in subjects]
    is_sweep = event["task"] == SWEEP
    runs = [f"{event['task']}/{subject}" for subject in subjects]
    return ExecutionRequest(event, runs, [settings.view_table] if is_sweep else tables)


STATUS = (
    "Exit status: 0 done, 1 done except for items that failed (now dead letters), 2 not finished."
)
backfill = _command(
    BACKFILL,
    "Fill the view from its sources without stopping writes.\n\nIt can be interrupted; the same "
    f"command resumes it.\n\n{STATUS}",
)
sweep = _command(
    SWEEP,
    "Remove stale rows after a model change.\n\nRun it after a backfill. Each row that no view "
    "derives any more is reconciled with its source item; none is removed because of its age.\n\n"
    f"It can be interrupted; the same command resumes it.\n\n{STATUS}",
)


def execute_runs(bulk: Bulk, runs: Sequence[str], options: RunOptions) -> None:
    """Execute runs one after the other, print their outcomes, and exit with the status."""
    outcomes = []
    with graceful_shutdown() as stop:
        for run in runs:
            outcomes.append(execute_run(bulk, run, options, stop))
            if not outcomes[-1].finished:
                break
    letters = "adminview dlq list" if bulk.settings.dead_letter_queue_url else str(LETTERS)
    report(outcomes, as_json=options.as_json, letters=letters)


def execute_run(
    bulk: Bulk, run: str, options: RunOptions, stop: Shutdown, worker: SegmentWorker | None = None
) -> SegmentOutcome:
    """Execute one run and display its progress."""
    with progress(run, expected_items(bulk, run)) as watch:
        notify = partial(echo, err=True)
        pool = SegmentPool(bulk, run, stop, options.tolerate, watch, notify, worker)
        return pool.work(options.segments, restart=options.restart)


def run_on_aws(machine: str, settings: Settings, request: ExecutionRequest) -> list[SegmentOutcome]:
    """Start or find an execution, and follow it until it ends or until Ctrl-C."""
    dynamodb = Clients().dynamodb
    table = LeaseTable(dynamodb, progress_table(settings.view_table))
    states: Any = boto3.client("stepfunctions")
    expected = _count_items(dynamodb, request.tables)
    with graceful_shutdown() as stop, progress(request.event["task"], expected) as watch:
        follower = ExecutionFollower(states, machine, request, table, stop, partial(echo, err=True))
        return follower.follow(follower.start(), watch)


def expected_items(bulk: Bulk, run: str) -> int | None:
    """Estimate the number of items; None if a table cannot be described."""
    return _count_items(bulk.progress.client, bulk.tables(run))


def _count_items(dynamodb: "DynamoDBClient", tables: Iterable[str]) -> int | None:
    reader, deadline = TableScanner(dynamodb), Deadline.after(10)
    try:
        return sum(reader.count(table, deadline=deadline) for table in tables)
    except ServiceError:  # the progress can be displayed without it
        return None
