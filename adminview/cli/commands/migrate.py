"""`adminview migrate`: bring the old items of a source table to what its service writes today."""

import json
import os
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Annotated

import typer

from adminview.aws.clients import Clients
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.settings import MIGRATE_MACHINE_OUTPUT, Settings
from adminview.aws.table_scanner import TableScanner
from adminview.bulk.migrate import Migrate
from adminview.bulk.runs import MIGRATE, Bulk
from adminview.cli.bulk.migration_preview import Preview, Previewer
from adminview.cli.bulk.segment_pool import Limits, RunOptions, connect
from adminview.cli.bulk.state_machine import Order, as_event, on_aws
from adminview.cli.commands.backfill import (
    Deployed,
    MaxRcu,
    MaxWcu,
    Restart,
    Segments,
    Tolerate,
    go_through,
)
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import check_deployed, check_model, find_settings
from adminview.cli.deployment.stacks import RECOVERY
from adminview.cli.errors import trouble_is
from adminview.cli.options import Json, Prefix, Stage
from adminview.cli.output.bulk import UNFINISHED
from adminview.cli.output.migrate import as_data, show, show_outcome, status
from adminview.cli.output.printing import Console, confirm
from adminview.cli.output.tables import table
from adminview.cli.shutdown import graceful_shutdown
from adminview.model import Migration
from adminview.model.errors import RecordError, SettingsError
from adminview.model.row import Attributes
from adminview.sync.decode import routes
from adminview.views import migrations, registry

SAMPLE = 1000
LISTED = 20  # items that fail


@trouble_is(UNFINISHED)
def migrate(  # noqa: PLR0913 - a command's options
    name: Annotated[
        str | None, typer.Argument(help="Which migration; without one, they are listed.")
    ] = None,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be set and what it costs, no more.")
    ] = False,
    sample: Annotated[int, typer.Option(min=1, help="Items to reckon from.")] = SAMPLE,
    every: Annotated[bool, typer.Option("--all", help="Reckon from all items.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before it begins.")] = False,
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
    """Set what old items of a source table lack, beside live traffic.

    An item is updated only if it is still what was read of it, and nothing is written over: the
    same command goes on after a stop, and a second run changes nothing. Exit status 0 done, 1 done
    but for some items, 2 not finished.
    """
    if name is None:
        _list()
        return
    migration = _find(name)
    deployment = Deployment.from_options(stage, prefix, os.environ)
    settings = find_settings(registry(), deployment)
    check_model(registry(), settings)
    console = Console()
    if dry_run or not yes:
        found = preview(migration, settings, max_rcu, None if every else sample)
        if dry_run and as_json:
            console.write_json(json.dumps(as_data(found), indent=2))
        elif dry_run or not as_json:
            show(found, max_wcu, console)
        if dry_run:
            return
        confirm("Update them?", abort=True, err=True)
    asked = RunOptions(segments, tolerate, restart, as_json)
    limits = Limits(max_rcu, max_wcu)
    if deployed:
        machine = deployment.output(RECOVERY, MIGRATE_MACHINE_OUTPUT)
        outcomes = on_aws(machine, settings, _order(migration, settings, asked, limits))
        show_outcome(outcomes[0], [], console, as_json=as_json)
        raise typer.Exit(status(outcomes[0]))
    check = partial(check_deployed, registry(), deployment)
    _run(connect(registry(), settings, limits, check), name, asked, console)


def _order(migration: Migration, settings: Settings, asked: RunOptions, limits: Limits) -> Order:
    """Say what a state machine is to do."""
    event = {"task": MIGRATE, "migration": migration.name, **as_event(asked, limits)}
    source = migration.source.name
    return Order(event, [f"{MIGRATE}/{migration.name}"], [settings.sources.get(source, source)])


def preview(
    migration: Migration, settings: Settings, max_rcu: float | None, most: int | None
) -> Preview:
    """Look at a part of the table, or at all of it, and write nothing."""
    by_source = {one.source: one for one in routes(registry(), settings.sources).values()}
    reader = TableScanner(Clients().dynamodb, RateLimiter(max_rcu))
    return Previewer(migration, by_source[migration.source], registry(), reader).look(most)


class Failing:
    """The items that fail, as far as they are listed: here, and in no log."""

    def __init__(self) -> None:
        self.items: list[tuple[Attributes, RecordError]] = []
        self._lock = Lock()

    def __call__(self, key: Attributes, error: RecordError) -> None:
        """Remember an item."""
        with self._lock:
            if len(self.items) < LISTED:
                self.items.append((key, error))


def _run(bulk: Bulk, name: str, asked: RunOptions, console: Console) -> None:
    """Go through the table, show what came of it, and exit with the status."""
    run = bulk.run(MIGRATE, name)
    failing = Failing()
    worker = bulk.worker(run)
    assert isinstance(worker.task, Migrate)
    worker = replace(worker, task=replace(worker.task, report_error=failing))
    with graceful_shutdown() as stop:
        outcome = go_through(bulk, run, asked, stop, worker)
    show_outcome(outcome, failing.items, console, as_json=asked.as_json)
    raise typer.Exit(status(outcome))


def _list() -> None:
    """Show the migrations that there are."""
    shown = table("Migrations declared in lambdas/migrations")
    for column in ("name", "source", "sets", "what it does"):
        shown.add_column(column, overflow="fold")
    for one in migrations().values():
        shown.add_row(one.name, one.source.name, ", ".join(one.sets), one.about)
    Console().print(shown)


def _find(name: str) -> Migration:
    if name not in migrations():
        msg = f"no migration is named {name!r}; there are {', '.join(migrations()) or 'none'}"
        raise SettingsError(msg)
    return migrations()[name]
