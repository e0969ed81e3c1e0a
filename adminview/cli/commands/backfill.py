"""`adminview backfill` and `adminview sweep`: fill the view, and clear what is left in it."""

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
from adminview.bulk.worker import Worker
from adminview.cli.bulk.segment_pool import Limits, RunOptions, SegmentOutcome, SegmentPool, connect
from adminview.cli.bulk.state_machine import Order, as_event, on_aws
from adminview.cli.dead_letters.post import LETTERS
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import check_deployed, check_model, check_streams, find_settings
from adminview.cli.deployment.stacks import RECOVERY
from adminview.cli.errors import trouble_is
from adminview.cli.options import Json, Prefix, Stage
from adminview.cli.output.bulk import UNFINISHED, progress, report
from adminview.cli.output.printing import echo
from adminview.cli.shutdown import Shutdown, graceful_shutdown
from adminview.model.errors import ServiceError
from adminview.views import registry

Sources = Annotated[
    list[str] | None, typer.Option("--source", help="Only this source; may be said several times.")
]
Segments = Annotated[
    int | None,
    typer.Option(min=1, max=MOST_SEGMENTS, help="Parts of a table, some worked on at once [16]."),
]
MaxRcu = Annotated[
    float | None, typer.Option(min=1, help="Read units per second to spend at most.")
]
MaxWcu = Annotated[
    float | None, typer.Option(min=1, help="Write units per second to spend at most.")
]
Tolerate = Annotated[int, typer.Option(min=0, help="Items of a run that may fail before it stops.")]
Restart = Annotated[bool, typer.Option("--restart", help="Forget how far it is, and begin anew.")]
Deployed = Annotated[
    bool,
    typer.Option("--deployed", help="On AWS: start the state machine, and follow it."),
]


def _command(kind: str, about: str) -> Callable[..., None]:
    """Make a command of a task."""

    @trouble_is(UNFINISHED)
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
        asked, limits = RunOptions(segments, tolerate, restart, as_json), Limits(max_rcu, max_wcu)
        check_model(registry(), settings)
        if deployed:
            event = {"task": kind, "sources": source, **as_event(asked, limits)}
            machine = deployment.output(RECOVERY, BACKFILL_MACHINE_OUTPUT)
            outcomes = on_aws(machine, settings, _order(settings, event, subjects))
            report(outcomes, as_json=as_json)
        check = partial(check_deployed, registry(), deployment)
        bulk = connect(registry(), settings, limits, check)
        runs = [bulk.run(kind, subject) for subject in subjects]
        if kind == BACKFILL:
            check_streams(deployment, subjects)
        work_through(bulk, runs, asked)

    command.__name__, command.__doc__ = kind, about
    return command


def _order(settings: Settings, event: Mapping[str, Any], subjects: Sequence[str]) -> Order:
    """Say what a state machine is to do, and to which tables."""
    tables = [settings.sources.get(one, one) for one in subjects]
    is_sweep = event["task"] == SWEEP
    runs = [f"{event['task']}/{one}" for one in subjects]
    return Order(event, runs, [settings.view_table] if is_sweep else tables)


STATUS = "Exit status 0 done, 1 done but items failed (they are dead letters), 2 not finished."
backfill = _command(
    BACKFILL,
    "Fill the view from its sources, beside live traffic; the same command goes on after a stop."
    f"\n\n{STATUS}",
)
sweep = _command(
    SWEEP,
    "Remove rows that nothing derives any more, which a change of the model has left; run it after "
    "a backfill.\n\nEach is looked up in its source, and reconciled: none is removed for its age. "
    f"{STATUS}",
)


def work_through(bulk: Bulk, runs: Sequence[str], asked: RunOptions) -> None:
    """Go through runs one after the other, show what they came to, and exit with the status."""
    outcomes = []
    with graceful_shutdown() as stop:
        for run in runs:
            outcomes.append(go_through(bulk, run, asked, stop))
            if not outcomes[-1].finished:
                break
    letters = "adminview dlq list" if bulk.settings.dead_letter_queue_url else str(LETTERS)
    report(outcomes, as_json=asked.as_json, letters=letters)


def go_through(
    bulk: Bulk, run: str, asked: RunOptions, stop: Shutdown, worker: Worker | None = None
) -> SegmentOutcome:
    """Go through one run, and show how far it is."""
    with progress(run, _expected(bulk, run)) as watch:
        say = partial(echo, err=True)
        shift = SegmentPool(bulk, run, stop, asked.tolerate, watch, say, worker)
        return shift.work(asked.segments, restart=asked.restart)


def _expected(bulk: Bulk, run: str) -> int | None:
    """Reckon how many items there are; not to know it stops nobody."""
    try:
        return TableScanner(bulk.progress.client).count(
            bulk.table(run), deadline=Deadline.after(10)
        )
    except ServiceError:
        return None
