"""`adminview backfill` and `adminview sweep`: fill the view, and remove stale rows."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import typer

from adminview.aws.deadline import Deadline
from adminview.aws.settings import BACKFILL_MACHINE_OUTPUT, Settings
from adminview.aws.table_scanner import TableScanner
from adminview.bulk.runs import BACKFILL, EVERYTHING, SWEEP, Bulk
from adminview.bulk.segment import MOST_SEGMENTS
from adminview.bulk.worker import SegmentWorker
from adminview.cli.bulk.segment_pool import Limits, RunOptions, SegmentOutcome, SegmentPool, connect
from adminview.cli.bulk.state_machine import ExecutionRequest, as_event, run_on_aws
from adminview.cli.dead_letters.files import LETTERS
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import check_deployed, check_model, check_streams, find_settings
from adminview.cli.deployment.stacks import RECOVERY
from adminview.cli.errors import exit_on_error
from adminview.cli.options import Json, MaxRcu, MaxWcu, Prefix, Stage
from adminview.cli.output.bulk import UNFINISHED, progress, report
from adminview.cli.output.printing import echo
from adminview.cli.shutdown import Shutdown, graceful_shutdown
from adminview.model.errors import ServiceError
from adminview.views import registry

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


def expected_items(bulk: Bulk, run: str) -> int | None:
    """Estimate the number of items; None if the table cannot be described."""
    try:
        reader, deadline = TableScanner(bulk.progress.client), Deadline.after(10)
        return sum(reader.count(table, deadline=deadline) for table in bulk.tables(run))
    except ServiceError:
        return None
